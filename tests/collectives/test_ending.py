# SPDX-License-Identifier: Apache-2.0
"""What all ranks are told of an operation that failed on one."""

from types import SimpleNamespace

import pytest

from railgauge.collectives.ending import Ending
from railgauge.topo.errors import RunError, UnavailableError


class Job:
    """A membership that keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

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
