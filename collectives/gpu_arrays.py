# SPDX-License-Identifier: Apache-2.0
"""A rank's two arrays for measured operations, in the memory of its GPU, which fills and checks them itself."""

import functools
from collections.abc import Callable

from railgauge._native import collectives as native
from railgauge.collectives.buffer import POISON
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.operation import extent
from railgauge.collectives.verification import Verification, verify

PATIENCE_S = 60.0
"""Time limit for a GPU to fill or check an array, which takes milliseconds."""


class GpuArrays:
    """Source and destination of `largest` bytes each."""

    def __init__(
        self,
        device: int,
        largest: int,
        rank: int,
        ranks: int,
        allocate: Callable[[int], native.GpuMemory] | None = None,
        timeout_s: float = PATIENCE_S,
    ) -> None:
        """`device` by CUDA's number in this process; `allocate` takes its memory, where that is of a special kind.
        All methods raise WaitTimeoutError if the GPU does not finish within `timeout_s`.

        Raises:
            UnavailableError: no such GPU, too little memory there, or a build without GPU kernels.
        """
        self._rank, self._ranks = rank, ranks
        allocate = allocate or functools.partial(native.GpuMemory, device)
        self._arrays = [allocate(max(largest, 1)) for _ in range(2)]
        self._patterns = native.GpuPatterns(device, timeout_s)

    def pointers(self, case: OperationCase, *, in_place: bool) -> tuple[int, int]:
        """The addresses of a case's source and destination."""
        source, destination = (
            self._arrays[which].pointer + element * case.dtype.bytes
            for which, element in case.lies(self._rank, self._ranks, in_place=in_place)
        )
        return source, destination

    def fill(self, case: OperationCase, pattern: native.Pattern, *, in_place: bool) -> None:
        """Write this rank's input, and fill the destination with values that no result has."""
        self._arrays[True].set(POISON, case.bytes(self._ranks))
        source, _ = self.pointers(case, in_place=in_place)
        count = extent(case.collective, case.count, self._rank, self._ranks, case.root).source
        self._patterns.fill(pattern, self._rank, source, count)

    def verify(
        self, case: OperationCase, pattern: native.Pattern, kind: PatternKind, *, in_place: bool
    ) -> Verification:
        """Compare the whole destination with the expected result."""
        _, destination = self.pointers(case, in_place=in_place)

        def at(element: int) -> int:
            return destination + element * case.dtype.bytes

        return verify(case, pattern, kind, at, self._rank, self._ranks, self._patterns)
