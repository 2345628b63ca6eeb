# SPDX-License-Identifier: Apache-2.0
"""What all ranks are told of an operation that failed on one."""

from types import SimpleNamespace

import pytest

from railgauge.collectives.ending import Ending
from railgauge.topo.errors import AbortedError, RunError, UnavailableError


class Job:
    """A membership that keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.failure: RunError | None = None

    def fail(self, message: str, *_waits: object, **_more: object) -> None:
        self.told.append(message)

    def wait_for_failure(self, error: RunError) -> RunError:
        return RunError(f"rank 3: {error}")


def ending(job: Job, *, amid: bool) -> Ending:
    return Ending(SimpleNamespace(job=job, world_rank=3), SimpleNamespace(is_amid=amid))


def broken():
    raise UnavailableError("mlx5_0:1: its port went down")


def test_a_device_that_fails_amid_an_operation_fails_the_run_by_name():
    job = Job()
    with pytest.raises(RunError, match="rank 3: mlx5_0:1: its port went down"):
        ending(job, amid=True).running(broken)
    assert job.told == ["mlx5_0:1: its port went down"]


def test_what_was_absent_before_anything_began_stays_that():
    job = Job()
    with pytest.raises(UnavailableError, match="mlx5_0:1"):
        ending(job, amid=False).running(broken)
    assert job.told == []


def test_who_aborted_is_told_so_at_each_operation_whatever_ends_the_run_later():
    job = Job()
    end = ending(job, amid=False)
    end.check()
    end.abort()
    job.failure = RunError("rank 5 was lost")
    for _ in range(2):
        with pytest.raises(AbortedError, match="rank 3: this communicator was aborted"):
            end.check()
    assert end.has_ended


def test_what_ends_the_run_ends_each_of_its_communicators():
    job = Job()
    end = ending(job, amid=False)
    job.failure = RunError("rank 5 was lost")
    with pytest.raises(RunError, match="rank 5 was lost"):
        end.check()
