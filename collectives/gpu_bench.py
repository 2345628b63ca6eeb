# SPDX-License-Identifier: Apache-2.0
"""A rank's arrays for runs in the memory of its GPU."""

from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.bench import Bench, Ran
from railgauge.collectives.buffer import Buffer
from railgauge.collectives.case import Case
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.operation import extent
from railgauge.collectives.verification import Verdict, verify


class GpuBench(Bench):
    """Buffers of `largest` bytes, each with one of the host beside it, where data is made and looked at."""

    def __init__(self, comm: GpuCommunicator, largest: int, *, replays: int = 0) -> None:
        """With `replays`, timed operations are captured into a CUDA graph that is run so often."""
        super().__init__(comm.rank, comm.size)
        self._comm = comm
        self._replays = replays
        self._arrays = [native.GpuMemory(comm.device, max(largest, 1)) for _ in range(2)]
        self._mirrors = [Buffer(largest) for _ in range(2)]

    def fill(self, case: Case, pattern: native.Pattern, *, in_place: bool) -> None:
        """As in Bench."""
        size = case.bytes(self.size)
        self._mirrors[True].poison(size)
        (which, element), _ = self.lies(case, in_place=in_place)
        count = extent(case.collective, case.count, self.rank, self.size, case.root).source
        native.fill_pattern(pattern, self.rank, self._mirrors[which].at(element, case.dtype), count)
        for array, mirror in zip(self._arrays, self._mirrors, strict=True):
            array.write(self._start(mirror, size))

    def repeat(self, case: Case, *, in_place: bool, ahead: int = 0, times: int = 1) -> float:
        """As in Bench; by the GPU's clock."""
        source, destination = (
            self._arrays[which].pointer + element * case.dtype.bytes
            for which, element in self.lies(case, in_place=in_place)
        )
        replays = self._replays if ahead else 0
        return self._comm.repeat(case, source, destination, ahead=ahead, times=times, replays=replays)

    def verify(self, case: Case, pattern: native.Pattern, kind: PatternKind, *, in_place: bool) -> Verdict:
        """As in Bench."""
        _, (_, element) = self.lies(case, in_place=in_place)
        self._arrays[True].read(self._start(self._mirrors[True], case.bytes(self.size)))
        return verify(case, pattern, kind, self._mirrors[True].at(element, case.dtype), self.rank, self.size)

    def ran(self, case: Case) -> Ran:
        """As in Bench."""
        return self._comm.ran(case)

    def floor_s(self, case: Case, times: int) -> float | None:
        """As in Bench: links are the limit."""
        return None

    def _start(self, mirror: Buffer, size: int) -> Any:
        return memoryview(mirror.memory)[:size]
