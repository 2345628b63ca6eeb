# SPDX-License-Identifier: Apache-2.0
"""The two arrays that a rank's runs are tried on, in the memory of its GPU: made, filled and checked."""

from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.buffer import Buffer
from railgauge.collectives.case import Case
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.operation import extent
from railgauge.collectives.verification import Verdict, verify


class GpuArrays:
    """Source and destination of `largest` bytes, each with one of the host beside it, where data is made and read."""

    def __init__(self, device: int, largest: int, rank: int, ranks: int) -> None:
        self._rank, self._ranks = rank, ranks
        self._arrays = [native.GpuMemory(device, max(largest, 1)) for _ in range(2)]
        self._mirrors = [Buffer(largest) for _ in range(2)]

    def pointers(self, case: Case, *, in_place: bool) -> tuple[int, int]:
        """Where a case's source and destination begin."""
        source, destination = (
            self._arrays[which].pointer + element * case.dtype.bytes
            for which, element in case.lies(self._rank, self._ranks, in_place=in_place)
        )
        return source, destination

    def fill(self, case: Case, pattern: native.Pattern, *, in_place: bool) -> None:
        """Write this rank's input, and into the destination what must not look right."""
        size = case.bytes(self._ranks)
        self._mirrors[True].poison(size)
        (which, element), _ = case.lies(self._rank, self._ranks, in_place=in_place)
        count = extent(case.collective, case.count, self._rank, self._ranks, case.root).source
        native.fill_pattern(pattern, self._rank, self._mirrors[which].at(element, case.dtype), count)
        for array, mirror in zip(self._arrays, self._mirrors, strict=True):
            array.write(self._start(mirror, size))

    def verify(self, case: Case, pattern: native.Pattern, kind: PatternKind, *, in_place: bool) -> Verdict:
        """Compare all that the destination has to hold."""
        _, (_, element) = case.lies(self._rank, self._ranks, in_place=in_place)
        self._arrays[True].read(self._start(self._mirrors[True], case.bytes(self._ranks)))
        return verify(case, pattern, kind, self._mirrors[True].at(element, case.dtype), self._rank, self._ranks)

    def _start(self, mirror: Buffer, size: int) -> Any:
        return memoryview(mirror.memory)[:size]
