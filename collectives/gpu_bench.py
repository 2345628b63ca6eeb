# SPDX-License-Identifier: Apache-2.0
"""What a run needs of a rank that works in the memory of its GPU."""

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from railgauge._native import collectives as native
from railgauge.collectives.bench import Bench, Ran
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.gpu_arrays import GpuArrays
from railgauge.collectives.verification import Verification

if TYPE_CHECKING:
    from railgauge.collectives.gpu_communicator import GpuCommunicator
    from railgauge.collectives.nccl_communicator import NcclCommunicator


def registered(comm: "GpuCommunicator", register: int) -> Callable[[int], native.GpuMemory] | None:
    """The allocator for a bench as nccl-tests' -R asks: 0 plain, 1 registered, 2 symmetric."""
    return functools.partial(comm.registered_memory, symmetric=register == 2) if register else None


class GpuBench(Bench):
    """Arrays of `largest` bytes on the communicator's GPU."""

    def __init__(
        self,
        comm: "GpuCommunicator | NcclCommunicator",
        largest: int,
        *,
        replays: int = 0,
        blocking: bool = False,
        allocate: Callable[[int], native.GpuMemory] | None = None,
    ) -> None:
        """With `replays`, timed operations are captured into a CUDA graph that is run that many times; `blocking`: the
        host waits for each of them, and its clock is used. `allocate` takes the memory if the communicator has its own
        allocator.
        """
        super().__init__(comm.rank, comm.size)
        self._comm = comm
        self._replays, self._blocking = replays, blocking
        self._arrays = GpuArrays(comm.device, largest, comm.rank, comm.size, allocate, comm.timeout_s)

    def fill(self, case: OperationCase, pattern: native.Pattern, *, in_place: bool) -> None:
        """As in Bench."""
        self._comm.running(lambda: self._arrays.fill(case, pattern, in_place=in_place))

    def repeat(self, case: OperationCase, *, in_place: bool, ahead: int = 0, times: int = 1) -> float:
        """As in Bench; by the GPU's clock, or by the host's where it waits for each operation."""
        source, destination = self._arrays.pointers(case, in_place=in_place)
        if self._blocking:
            for _ in range(ahead):
                self._comm.repeat(case, source, destination)
            began = time.perf_counter()
            for _ in range(times):
                self._comm.repeat(case, source, destination)
            return (time.perf_counter() - began) / times
        replays = self._replays if ahead else 0
        return self._comm.repeat(case, source, destination, ahead=ahead, times=times, replays=replays)

    def verify(
        self, case: OperationCase, pattern: native.Pattern, kind: PatternKind, *, in_place: bool
    ) -> Verification:
        """As in Bench."""
        return self._comm.running(lambda: self._arrays.verify(case, pattern, kind, in_place=in_place))

    def ran(self, case: OperationCase) -> Ran:
        """As in Bench."""
        return self._comm.ran(case, *self._arrays.pointers(case, in_place=False))

    def floor_s(self, case: OperationCase, times: int) -> float | None:
        """As in Bench: links are the limit."""
        return None
