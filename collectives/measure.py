# SPDX-License-Identifier: Apache-2.0
"""Measures one size: sets up data, times repeated operations, verifies every element on every rank.

The protocol is nccl-tests': warm-up and timed iterations out of place and in place, then `check` verified operations on
fresh data, and here one more on random data. Times are a rank's own; the ranks' times are combined as -a asks.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

from railgauge._native import collectives as native
from railgauge.collectives.bench import Bench
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.job import Job
from railgauge.collectives.operation import IN_PLACE, REDUCING, ROOTED, count_of, extent
from railgauge.collectives.verification import Verification
from railgauge.transports.bootstrap import Bootstrap

SEEDS_PER_ROW = 1 << 20
"""The seeds of one row: for timing, and for each check, out of place and in place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One rank's result of one size, out of place or in place."""

    seconds: float
    cpu_seconds: float
    """CPU time of this rank's thread, averaged over all operations."""
    verdict: Verification | None
    """None without verification."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """All ranks' results, out of place or in place: microseconds, algbw and busbw in GB/s."""

    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    wrong: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the table."""

    bytes: int
    count: int
    dtype: str
    redop: str
    root: int
    out_of_place: Timing
    in_place: Timing
    algorithm: str | None
    """None if the engine does not report it, like the next two."""
    protocol: str | None
    channels: int | None
    predicted_busbw_gb_per_s: float
    floor_us: float | None = None
    """The limit set by memory: the slowest rank's time to read its input and write its output once, with all ranks
    busy, measured beside the row; None between several nodes, where the network is the limit, and without a core for
    each rank."""


class Meter:
    """Measures one collective on one rank; all ranks call it with the same arguments."""

    def __init__(self, bench: Bench, bootstrap: Bootstrap, job: Job, arm_fault: Callable[[], None]) -> None:
        """`arm_fault` arms an injected fault from the first verified operation on."""
        self._bench = bench
        self._bootstrap = bootstrap
        self._job = job
        self._arm_fault: Callable[[], None] | None = arm_fault if job.fault else None
        self.first_wrong: str | None = None

    def row(self, size: int, dtype: Dtype, op: Redop, root: int, seed: int) -> Row:
        """Measure and verify one size (bytes), out of place and in place."""
        collective, ranks = self._job.collective, self._bench.size
        count = count_of(collective, size, dtype.bytes, ranks)
        case = OperationCase(collective=collective, count=count, dtype=dtype, op=op, root=root)
        ways = [self._way(case, seed, in_place) for in_place in (False, True)]
        self._bootstrap.barrier()
        floor = self._bench.floor_s(case, self._job.iterations * self._job.aggregate)
        told = self._bootstrap.all_gather([floor, *ways], tuple[float | None, Sample, Sample])
        everybody = [list(samples) for _, *samples in told]
        timings = [self._combine(list(way), case.bytes(ranks)) for way in zip(*everybody, strict=True)]
        self._note_wrong(everybody, case)
        ran = self._bench.ran(case)
        return Row(
            bytes=case.bytes(ranks),
            count=count,
            dtype=dtype.label,
            redop=op.label if collective in REDUCING else "none",
            root=root if collective in ROOTED else -1,
            out_of_place=timings[0],
            in_place=timings[1],
            algorithm=ran.algorithm and str(ran.algorithm),
            protocol=ran.protocol and str(ran.protocol),
            channels=ran.channels,
            predicted_busbw_gb_per_s=ran.predicted_busbw_gb_per_s,
            floor_us=None if floor is None else max(each or 0.0 for each, *_ in told) * 1e6,
        )

    def _way(self, case: OperationCase, seed: int, in_place: bool) -> Sample:
        seeds = itertools.count(seed * SEEDS_PER_ROW + in_place * SEEDS_PER_ROW // 2)  # never the same data twice
        self._fill(case, next(seeds), in_place, PatternKind.EXACT)
        seconds, cpu_seconds = self._time(case, in_place)
        checks = self._checks if not in_place or case.collective in IN_PLACE else []
        verdicts = [self._verify(case, next(seeds), in_place, kind) for kind in checks]  # all: the others run them too
        first = next((verdict for verdict in verdicts if verdict.wrong), verdicts[0] if verdicts else None)
        return Sample(seconds=seconds, cpu_seconds=cpu_seconds, verdict=first)

    @property
    def _checks(self) -> list[PatternKind]:
        """The data of each verified operation: -c times integers, which show every bit that is off, then random bits,
        which show what integers do not have (exponents, rounding).
        """
        check = self._job.check
        return [PatternKind.EXACT] * check + [PatternKind.RANDOM] * (check > 0)

    def _time(self, case: OperationCase, in_place: bool) -> tuple[float, float]:
        """Seconds and CPU seconds of one operation on this rank.

        An untimed one runs first: it absorbs the ranks' different start times.
        """
        ahead = self._job.warmup + 1
        times = self._job.iterations * self._job.aggregate
        self._bootstrap.barrier()
        before = time.thread_time()
        seconds = self._bench.repeat(case, in_place=in_place, ahead=ahead, times=times)
        return seconds, (time.thread_time() - before) / (ahead + times)

    def _verify(self, case: OperationCase, seed: int, in_place: bool, kind: PatternKind) -> Verification:
        """Run it on fresh data and verify this rank's result."""
        pattern = self._fill(case, seed, in_place, kind)
        if self._arm_fault:
            self._arm_fault()
            self._arm_fault = None
        self._bench.repeat(case, in_place=in_place)
        return self._bench.verify(case, pattern, kind, in_place=in_place)

    def _fill(self, case: OperationCase, seed: int, in_place: bool, kind: PatternKind) -> native.Pattern:
        pattern = native.Pattern(self._bench.size, case.dtype, case.op, seed, kind)
        self._bench.fill(case, pattern, in_place=in_place)
        return pattern

    def _combine(self, samples: list[Sample], size: int) -> Timing:
        """All ranks' samples combined as -a asks; -C shows CPU time, bandwidth is always by the clock."""
        taken = self._average([sample.seconds for sample in samples])
        shown = self._average([sample.cpu_seconds for sample in samples]) if self._job.cpu_time else taken
        algbw = size / taken / 1e9 if taken > 0 else 0.0
        verdicts = [sample.verdict for sample in samples]
        wrong = None if None in verdicts else sum(verdict.wrong for verdict in verdicts if verdict)
        busbw = algbw * self._job.collective.factor(self._bench.size)
        return Timing(time_us=shown * 1e6, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw, wrong=wrong)

    def _average(self, values: list[float]) -> float:
        return (values[0], sum(values) / len(values), min(values), max(values))[self._job.average]

    def _note_wrong(self, everybody: list[list[Sample]], case: OperationCase) -> None:
        for rank, ways in enumerate(everybody):
            for way, sample in zip(("out of place", "in place"), ways, strict=True):
                verdict = sample.verdict
                if verdict and verdict.wrong and self.first_wrong is None:
                    of = extent(case.collective, case.count, rank, self._bench.size, case.root).destination
                    self.first_wrong = f"rank {rank}: {verdict.wrong} of {of} elements wrong ({case}, {way}): {verdict}"
