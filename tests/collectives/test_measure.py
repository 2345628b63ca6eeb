# SPDX-License-Identifier: Apache-2.0
"""The figures of a row follow from the ranks' times, and the flags of nccl-tests decide how they were taken."""

from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import pytest
from tests.cli.command import in_process

from railgauge.collectives.bench import Bench, Ran
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_bench import GpuBench
from railgauge.collectives.host_bench import HostBench
from railgauge.collectives.measure import Meter
from railgauge.collectives.operation import count_of
from railgauge.topo.nccl.settings.algorithm import Collective

OUT, IN = (0.002, 0.004, 0.009), (0.020, 0.040, 0.090)
"""Seconds that each of three ranks takes, out of place and in place."""


class Timed(Bench):
    """Takes the time that it is given, and counts how often it was asked to run."""

    def __init__(self, rank=0, size=3):
        super().__init__(rank, size)
        self.asked = []

    def fill(self, case, pattern, *, in_place):
        pass

    def repeat(self, case, *, in_place, ahead=0, times=1):
        self.asked.append((in_place, ahead, times))
        return (IN if in_place else OUT)[self.rank]

    def verify(self, case, pattern, kind, *, in_place):
        raise AssertionError("-c 0")

    def ran(self, case):
        return Ran("ring", "simple", 1, 0.0)

    def floor_s(self, case, times):
        return None


def others(mine, _kind):
    """What the three ranks say, by what rank 0 does."""
    floor, out, back = mine
    return [(floor, replace(out, seconds=OUT[rank]), replace(back, seconds=IN[rank])) for rank in range(3)]


def row(collective=Collective.ALL_GATHER, size=3 << 20, bench=None, **job):
    flags = {"iterations": 1, "aggregate": 1, "warmup": 0, "check": 0, "average": 1, "cpu_time": False, "fault": None}
    bootstrap = SimpleNamespace(barrier=lambda: None, all_gather=others)
    asked = SimpleNamespace(collective=collective, **flags | job)
    meter = Meter(bench or Timed(), bootstrap, asked, lambda: None)
    return meter.row(size, Dtype.FLOAT, Redop.SUM, 0, seed=0)


@pytest.mark.parametrize(("average", "seconds"), [(0, 0.002), (1, 0.005), (2, 0.002), (3, 0.009)])
def test_a_chooses_among_the_ranks_times(average, seconds):
    got = row(average=average)
    assert got.out_of_place.time_us == pytest.approx(seconds * 1e6)
    assert got.in_place.time_us == pytest.approx(seconds * 1e7)
    assert got.out_of_place.algbw_gb_per_s == pytest.approx(got.bytes / seconds / 1e9)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [(Collective.ALL_REDUCE, 4 / 3), (Collective.ALL_GATHER, 2 / 3), (Collective.BROADCAST, 1.0)],
)
def test_busbw_is_algbw_times_the_factor_of_the_collective(collective, factor):
    way = row(collective).out_of_place
    assert way.busbw_gb_per_s == pytest.approx(way.algbw_gb_per_s * factor)


@pytest.mark.parametrize(("flags", "ahead", "times"), [({}, 1, 1), ({"warmup": 7}, 8, 1), ({"warmup": 0}, 1, 1)])
def test_w_runs_ahead(flags, ahead, times):
    bench = Timed()
    row(bench=bench, **flags)
    assert bench.asked == [(False, ahead, times), (True, ahead, times)]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 1), (1, 3), (5, 3)])
def test_m_operations_are_timed_for_each_of_n(n, m):
    bench = Timed()
    row(bench=bench, iterations=n, aggregate=m)
    assert {times for _, _, times in bench.asked} == {n * m}


@pytest.mark.parametrize("kind", [HostBench, GpuBench])
def test_a_bench_passes_both_on(kind):
    bench = object.__new__(kind)
    bench._comm, bench._replays, bench._blocking, bench._arrays = mock.Mock(), 0, False, mock.Mock()
    bench._view = bench._arrays.pointers = lambda case, in_place: (None, None)
    bench.repeat(mock.Mock(), in_place=False, ahead=5, times=7)
    given = bench._comm.repeat.call_args.kwargs
    assert (given["ahead"], given["times"]) == (5, 7)


def test_the_flags_reach_the_job():
    with mock.patch("railgauge.cli.run.command.start", return_value=0) as start:
        done = in_process("run", "all_reduce", "-n", "5", "-m", "3", "-w", "7", "-a", "3", "-c", "2", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    job = start.call_args.args[0]
    assert (job.iterations, job.aggregate, job.warmup, job.average, job.check) == (5, 3, 7, 3, 2)


@pytest.mark.parametrize(("scan", "counts"), [(("-f", "2"), False), (("-i", "8"), True)])
def test_ranks_agree_on_the_step_of_a_scan_by_steps(scan, counts):
    with mock.patch("railgauge.cli.run.command.start", return_value=0) as start:
        in_process("run", "all_reduce", "-b", "8", "-e", "64", *scan, "--device", "cpu")
    assert ("-i" in start.call_args.args[0].agreed()) == counts


def test_without_flags_a_run_is_as_nccl_tests_has_it():
    """The defaults in its README: 20 timed iterations, 1 before, one size of 32 MiB, checked, the ranks' average."""
    with mock.patch("railgauge.cli.run.command.start", return_value=0) as start:
        done = in_process("run", "all_reduce", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    job = start.call_args.args[0]
    assert (job.iterations, job.aggregate, job.warmup, job.average, job.check) == (20, 1, 1, 1, 1)
    assert (job.sizes, job.cycles) == ((32 << 20,), 1)


@pytest.mark.parametrize("collective", [Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL])
@pytest.mark.parametrize("element", [1, 2, 4, 8])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_each_part_is_a_multiple_of_16_bytes(collective, element, ranks):
    """nccl-tests 2.19, all_gather.cu: base = (count / nranks) & -(16 / eltSize)."""
    for size in (0, 15, 16, 100, 1000, 4096, 1_000_003):
        count = count_of(collective, size, element, ranks)
        assert count == (size // element // ranks) & -(16 // element)
        assert count * element % 16 == 0


@pytest.mark.parametrize("collective", [Collective.GATHER, Collective.SCATTER])
def test_other_parts_are_not_cut(collective):
    assert count_of(collective, 1000, 4, 3) == 83
    assert count_of(Collective.ALL_REDUCE, 1003, 4, 3) == 250
