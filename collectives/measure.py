# SPDX-License-Identifier: Apache-2.0
"""Measures one size: data set up, an operation timed over and over, every element verified on every rank.

The protocol is nccl-tests': warm-up and timed iterations out of place and in place, then `check` verified operations
on fresh data. Times are a rank's own; the ranks' times are averaged as -a says.
"""

import contextlib
import ctypes
import itertools
import mmap
import time
from dataclasses import asdict, dataclass
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.job import Job
from railgauge.topo.algorithm import Collective
from railgauge.topo.errors import UnavailableError
from railgauge.transports.bootstrap import Bootstrap

POISON = 0xA5
SEEDS_PER_ROW = 1 << 20
"""Room for the seeds of one row: data for timing, and for each check, both ways."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One rank's result of one way (out of place or in place) of one size."""

    seconds: float
    cpu_seconds: float
    """Of this rank's thread, averaged over all operations."""
    wrong: int | None
    """Elements that differ; None without verification."""
    index: int = 0
    expected: float = 0.0
    got: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """All ranks' results of one way: microseconds, algbw and busbw in GB/s."""

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
    algorithm: str
    protocol: str
    channels: int
    predicted_busbw_gb_per_s: float


class Buffer:
    """Page-aligned memory, in huge pages where the system has them; the engine takes it as bytes."""

    def __init__(self, size: int) -> None:
        try:
            self.memory: Any = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            raise UnavailableError(f"a rank needs two buffers of {size} bytes and cannot have them: lower -e") from None
        with contextlib.suppress(OSError):
            self.memory.madvise(mmap.MADV_HUGEPAGE)

    def poison(self, size: int) -> None:
        """Fill the first `size` bytes with what no result is."""
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(self.memory)), POISON, size)


class Meter:
    """Measures all-reduce on one rank; all ranks call it with the same arguments."""

    def __init__(self, comm: Communicator, bootstrap: Bootstrap, job: Job, predicted_gb_per_s: float) -> None:
        self._comm = comm
        self._bootstrap = bootstrap
        self._job = job
        self._predicted = predicted_gb_per_s
        self._source, self._destination = (Buffer(max(job.sizes)) for _ in range(2))
        self._armed = False
        self.first_wrong: str | None = None

    def row(self, size: int, dtype: Dtype, op: Redop, seed: int) -> Row:
        """Measure and verify one size (bytes), both ways."""
        count = size // dtype.bytes
        ways = [self._way(count, dtype, op, seed, in_place) for in_place in (False, True)]
        everybody = self._bootstrap.all_gather([asdict(way) for way in ways])
        timings = [self._combine([Sample(**ranks[i]) for ranks in everybody], count * dtype.bytes) for i in (0, 1)]
        self._note_wrong([[Sample(**way) for way in ranks] for ranks in everybody], count, dtype, op)
        algorithm, channels = self._comm.choice(Collective.ALL_REDUCE, count, dtype)
        return Row(
            bytes=count * dtype.bytes,
            count=count,
            dtype=dtype.label,
            redop=op.label,
            root=-1,
            out_of_place=timings[0],
            in_place=timings[1],
            algorithm=str(algorithm),
            protocol="simple",
            channels=channels,
            predicted_busbw_gb_per_s=self._predicted * channels / self._comm.rings,
        )

    def _way(self, count: int, dtype: Dtype, op: Redop, seed: int, in_place: bool) -> Sample:
        into = self._destination
        source = into if in_place else self._source
        seeds = itertools.count(seed * SEEDS_PER_ROW + in_place * SEEDS_PER_ROW // 2)  # never the same data twice
        self._fill(source, count, dtype, op, next(seeds))
        seconds, cpu_seconds = self._time(source, into, count, dtype, op)
        verdict = None
        for _ in range(self._job.check):
            verdict = self._verify(source, into, count, dtype, op, next(seeds), in_place)
            if verdict[0]:
                break
        wrong, index, expected, got = verdict or (None, 0, 0.0, 0.0)
        return Sample(seconds=seconds, cpu_seconds=cpu_seconds, wrong=wrong, index=index, expected=expected, got=got)

    def _time(self, source: Buffer, into: Buffer, count: int, dtype: Dtype, op: Redop) -> tuple[float, float]:
        """Seconds and CPU seconds of one operation on this rank.

        One more goes ahead untimed: it absorbs the ranks' late arrival.
        """
        ahead = self._job.warmup + 1
        times = self._job.iterations * self._job.aggregate
        self._bootstrap.barrier()
        before = time.thread_time()
        seconds = self._comm.repeat(
            Collective.ALL_REDUCE, source.memory, into.memory, count, dtype, op, ahead=ahead, times=times
        )
        return seconds, (time.thread_time() - before) / (ahead + times)

    def _verify(
        self, source: Buffer, into: Buffer, count: int, dtype: Dtype, op: Redop, seed: int, in_place: bool
    ) -> tuple[int, int, float, float]:
        size = count * dtype.bytes
        if not in_place:
            into.poison(size)  # what is not written must not look right
        self._fill(source, count, dtype, op, seed)
        if self._job.fault and not self._armed:
            self._comm.arm_fault()
            self._armed = True
        self._comm.repeat(Collective.ALL_REDUCE, source.memory, into.memory, count, dtype, op)
        return native.check_reduced(native.Pattern(self._comm.size, dtype, op, seed), into.memory, count)

    def _fill(self, data: Buffer, count: int, dtype: Dtype, op: Redop, seed: int) -> None:
        native.fill_pattern(native.Pattern(self._comm.size, dtype, op, seed), self._comm.rank, data.memory, count)

    def _combine(self, samples: list[Sample], size: int) -> Timing:
        """All ranks' samples as -a says; -C shows CPU time, bandwidth is always by the clock."""
        taken = self._average([sample.seconds for sample in samples])
        shown = self._average([sample.cpu_seconds for sample in samples]) if self._job.cpu_time else taken
        algbw = size / taken / 1e9 if taken > 0 else 0.0
        wrong = None if any(s.wrong is None for s in samples) else sum(s.wrong or 0 for s in samples)
        busbw = algbw * Collective.ALL_REDUCE.factor(self._comm.size)
        return Timing(time_us=shown * 1e6, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw, wrong=wrong)

    def _average(self, values: list[float]) -> float:
        return (values[0], sum(values) / len(values), min(values), max(values))[self._job.average]

    def _note_wrong(self, everybody: list[list[Sample]], count: int, dtype: Dtype, op: Redop) -> None:
        for rank, ways in enumerate(everybody):
            for way, sample in zip(("out of place", "in place"), ways, strict=True):
                if sample.wrong and self.first_wrong is None:
                    self.first_wrong = (
                        f"rank {rank}: {sample.wrong} of {count} elements wrong ({dtype.label} {op.label}, {way}): "
                        f"index {sample.index}: expected {sample.expected:.17g}, got {sample.got:.17g}"
                    )
