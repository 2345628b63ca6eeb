# SPDX-License-Identifier: Apache-2.0
"""The rank that others wait for is named, with how long, whatever the clocks of hosts and GPUs show."""

import pytest
from tests.topo.jobs.recordings.writer import MS, UNIX_NS, RankFile, job, write

from railgauge.topo.jobs.recordings.aligned import Clock, aligned
from railgauge.topo.jobs.recordings.job import read_job
from railgauge.topo.jobs.recordings.lateness import lateness
from railgauge.topo.jobs.recordings.layout import RecordingLevel


def of(files, tmp_path):
    (communicator,) = read_job(write(files, tmp_path)).communicators
    times = aligned(communicator)
    return times, lateness(times)


def late_ranks(found):
    return [one.rank for one in found if one.is_late]


@pytest.mark.parametrize(("level", "clock"), [(RecordingLevel.CHANNEL, Clock.GPU), (RecordingLevel.OP, Clock.CALLS)])
def test_a_rank_that_comes_20_ms_late_is_named(tmp_path, level, clock):
    times, found = of(job(late=1, level=level, kernels=level is RecordingLevel.CHANNEL), tmp_path)
    assert times.clock is clock
    assert late_ranks(found) == [1]
    assert found[1].times == 20
    assert found[1].typical_ns == pytest.approx(20 * MS, rel=0.01)
    assert found[1].share == pytest.approx(19 * 20 / (19 * 50 + 21), rel=0.01)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_nobody_is_late_in_a_healthy_job(tmp_path, size):
    assert not late_ranks(of(job(size=size), tmp_path)[1])


def test_clocks_of_gpus_may_differ_and_drift(tmp_path):
    times, found = of(job(size=4, operations=600, late=2, late_ns=MS, period_ns=10 * MS, drift=20_000), tmp_path)
    assert times.clock is Clock.GPU
    assert late_ranks(found) == [2]
    assert found[2].typical_ns == pytest.approx(MS, rel=0.05)


def test_hosts_without_ends_are_compared_by_their_wall_clocks(tmp_path):
    def host(rank):  # booted at other times
        return {"host": f"n{rank}", "boot_id": f"b{rank}", "monotonic_ns": 0, "realtime_ns": UNIX_NS - rank * 0}

    times, found = of(job(late=0, level=RecordingLevel.OP, kernels=False, every_host=host), tmp_path)
    assert times.clock is Clock.WALL
    assert late_ranks(found) == [0]


def test_what_is_within_the_operation_is_not_lateness(tmp_path):
    times, found = of(job(took_ns=30 * MS), tmp_path)
    assert not late_ranks(found)
    assert times.took_ns.mean() == pytest.approx(30 * MS, rel=0.01)


def test_a_rank_that_is_late_to_the_first_of_many_operations_is_named(tmp_path):
    files = [RankFile(rank, 4) for rank in range(4)]
    now = MS
    for operation in range(200):
        wait = 10 * MS if operation % 20 == 0 else 0  # a step begins, for which rank 3 loads its data
        for file in files:
            came = now + file.rank * 1000 + (wait if file.rank == 3 else 0)
            file.collective(came, came, now + wait + 500_000)
        now += wait + MS
    found = of(files, tmp_path)[1]
    assert late_ranks(found) == [3]
    assert found[3].times == 10
    assert found[3].typical_ns == pytest.approx(10 * MS, rel=0.01)
    assert found[3].share == pytest.approx(0.3, rel=0.01)


def test_one_late_arrival_makes_no_late_rank(tmp_path):
    files = job(operations=50)
    rows = files[1].rows
    rows[2] = (*rows[2][:1], rows[2][1] + 40 * MS, *rows[2][2:])
    assert not late_ranks(of(files, tmp_path)[1])


def test_ranks_that_are_late_in_turns_are_not_named(tmp_path):
    files = [RankFile(rank, 4) for rank in range(4)]
    for operation in range(1, 81):
        for file in files:
            came = operation * 20 * MS + (10 * MS if operation % 4 == file.rank else 0)
            file.collective(came, came, operation * 20 * MS + 11 * MS)
    found = of(files, tmp_path)[1]
    assert [one.times for one in found] == [20] * 4
    assert not late_ranks(found)


def test_too_few_operations_say_nothing(tmp_path):
    assert not late_ranks(of(job(operations=4, late=1), tmp_path)[1])
