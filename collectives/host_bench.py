# SPDX-License-Identifier: Apache-2.0
"""A rank's arrays for runs in host memory."""

from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.bench import Bench, Ran
from railgauge.collectives.buffer import Buffer, own_memory
from railgauge.collectives.case import OperationCase
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.cost.host_cost import host_cost
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.operation import extent
from railgauge.collectives.verification import Verification, verify
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol


class HostBench(Bench):
    """Buffers of `largest` bytes; `register`: allocated by the communicator, so that ranks of a host work on each
    other's, and registered with RDMA devices.
    """

    def __init__(self, comm: Communicator, largest: int, *, register: bool) -> None:
        super().__init__(comm.rank, comm.size)
        self._comm = comm
        allocate = comm.memory if register else own_memory
        self._source, self._destination = (Buffer(largest, allocate) for _ in range(2))
        if register:
            for buffer in (self._source, self._destination):
                comm.register(buffer.memory)  # for as long as the communicator exists

    def fill(self, case: OperationCase, pattern: native.Pattern, *, in_place: bool) -> None:
        """As in Bench."""
        self._destination.poison(case.bytes(self.size))
        count = extent(case.collective, case.count, self.rank, self.size, case.root).source
        native.fill_pattern(pattern, self.rank, self._view(case, in_place)[0], count)

    def repeat(self, case: OperationCase, *, in_place: bool, ahead: int = 0, times: int = 1) -> float:
        """As in Bench."""
        source, destination = self._view(case, in_place)
        return self._comm.repeat(
            case.collective,
            source,
            destination,
            case.count,
            case.dtype,
            case.op,
            case.root,
            ahead=ahead,
            times=times,
        )

    def verify(
        self, case: OperationCase, pattern: native.Pattern, kind: PatternKind, *, in_place: bool
    ) -> Verification:
        """As in Bench."""
        _, destination = self._view(case, in_place)
        size = case.dtype.bytes
        return verify(case, pattern, kind, lambda element: destination[element * size :], self.rank, self.size)

    def ran(self, case: OperationCase) -> Ran:
        """As in Bench."""
        algorithm, channels, protocol = self._comm.choice(case.collective, case.count, case.dtype)
        if self._comm.ran_zero_copy:
            algorithm, channels, protocol = Algorithm.ZERO_COPY, 1, Protocol.SIMPLE
        predicted = predicted_busbw(self._comm, case.collective, algorithm, case.bytes(self.size))
        return Ran(algorithm, protocol, channels, predicted)

    def floor_s(self, case: OperationCase, times: int) -> float | None:
        """As in Bench; none between several nodes, where the network is the limit, and without a core for each rank."""
        where = self._comm.host_ranks
        if where.nodes > 1 or where.turns > 1:
            return None
        lies = extent(case.collective, case.count, self.rank, self.size, case.root)
        sizes = lies.source * case.dtype.bytes, lies.destination * case.dtype.bytes
        return native.memory_floor(self._source.memory, sizes[0], self._destination.memory, sizes[1], times)

    def _view(self, case: OperationCase, in_place: bool) -> tuple[Any, Any]:
        arrays = self._source, self._destination
        from_, to = case.lies(self.rank, self.size, in_place=in_place)
        return arrays[from_[0]].at(from_[1], case.dtype), arrays[to[0]].at(to[1], case.dtype)


def predicted_busbw(comm: Communicator, collective: Collective, algorithm: Algorithm, size: int) -> float:
    """The cost model's prediction for `size` bytes with an algorithm, in GB/s; 0 for a single rank, which moves
    nothing.
    """
    if comm.size == 1:
        return 0.0
    time_us = host_cost(comm.host_ranks, collective, algorithm, size).time_us
    return size / time_us / 1e3 * collective.factor(comm.size)
