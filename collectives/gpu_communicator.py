# SPDX-License-Identifier: Apache-2.0
"""Collectives on arrays in the memory of GPUs that reach each other's memory: a GPU for each rank, on one host."""

from collections.abc import Sequence
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.bench import Ran
from railgauge.collectives.case import Case
from railgauge.collectives.collectives import Collectives
from railgauge.collectives.cuda_array import CudaArray, cuda_array, current_stream
from railgauge.collectives.operation import IN_PLACE, NUMBERS, extent
from railgauge.topo.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.group import Group

COLLECTIVES = tuple(NUMBERS)
WAYS = (
    (Algorithm.ONE_SHOT, Protocol.LL),
    (Algorithm.TWO_SHOT, Protocol.SIMPLE),
    (Algorithm.TWO_SHOT, Protocol.LL128),
)
"""In the order of the native engine's numbers (collectives/native/gpu/engine.h)."""
COUNTED_BY_DESTINATION = (Collective.REDUCE_SCATTER, Collective.BROADCAST, Collective.SCATTER)
"""Those whose count is how many elements each destination has, the others' that of each source."""
NOWHERE = CudaArray(0, 0, None)  # type: ignore[arg-type]  # of a rank that gives or gets nothing


class GpuCommunicator(Collectives):
    """One rank's end of a group, with one GPU. Made by all ranks together; not for two threads at once.

    Operations are put on the stream of the caller's library (`current_stream`), in the same order on all ranks, and
    return at once: results are there when the stream has come so far. They can be captured into CUDA graphs. A rank
    that does not come within the timeout ends the kernels that wait for it; the next call, or `synchronize`, then
    raises PeerLostError. Results of an operation are the same bits on all ranks and from run to run: inputs are reduced
    in the order of the ranks.
    """

    def __init__(self, group: Group, device: int) -> None:
        """Connect to all ranks of the group; `device` is CUDA's number of this rank's GPU in this process.

        Raises:
            UnavailableError: on any rank, there is no GPU, no memory, or no way from GPU to GPU; all ranks raise it.
            UsageError: two ranks gave one GPU. RunError: a rank was lost meanwhile.
        """
        self.rank, self.size, self.device = group.rank, group.world_size, device
        self._group = group
        told = group.all_gather(self._lend(device))
        if problems := [f"rank {rank}: {one['error']}" for rank, one in enumerate(told) if "error" in one]:
            raise UnavailableError("; ".join(problems))
        error: Exception | None = None
        try:
            self._engine.connect([bytes.fromhex(one["lent"]) for one in told])
        except (UnavailableError, UsageError) as caught:
            error = caught
        failed = group.all_gather(None if error is None else str(error))
        if error is not None:
            raise error
        if problems := [f"rank {rank}: {text}" for rank, text in enumerate(failed) if text]:
            raise UnavailableError("; ".join(problems))

    def repeat(
        self, case: Case, source: int, destination: int, *, ahead: int = 0, times: int = 1, replays: int = 0
    ) -> float:
        """Run a case on raw pointers `ahead` and then `times` times; the seconds one of the latter took on the GPU.

        With `replays` the `times` are a CUDA graph, which runs once ahead and then so often.
        """
        c = case
        how = NUMBERS[c.collective], source, destination, c.count, int(c.dtype), int(c.op), c.root
        return self._engine.repeat(*how, ahead, times, replays)

    def ran(self, case: Case) -> Ran:
        """How such an operation is run."""
        algorithm, protocol = WAYS[self._engine.way(NUMBERS[case.collective], case.count, int(case.dtype))]
        return Ran(algorithm, protocol, 1, 0.0)

    def synchronize(self, stream: int = 0) -> None:
        """Wait until all that is on a stream (CUDA's handle) is done.

        Raises:
            PeerLostError: a rank did not take part within the timeout.
        """
        self._engine.synchronize(stream)

    def _lend(self, device: int) -> dict[str, str]:
        try:
            self._engine = native.GpuEngine(device, self.rank, self.size, self._group.job.timeout_s)
            return {"lent": self._engine.lent.hex()}
        except UnavailableError as error:
            return {"error": str(error)}

    def _call(self, collective: int, source: Any, destination: Any, op: int, root: int, async_op: bool) -> Any:
        if async_op:
            raise UsageError("async_op: an operation on a GPU returns at once anyway")
        what = COLLECTIVES[collective]
        from_, to = (NOWHERE if array is None else cuda_array(array) for array in (source, destination))
        dtype = (to if from_.dtype is None else from_).dtype
        count = to.count if what in COUNTED_BY_DESTINATION else from_.count
        if what is Collective.ALL_TO_ALL:
            count //= self.size
        self._check(what, from_, to, count, root)
        self._engine.check()
        stream = current_stream(source if source is not None else destination)
        self._engine.run(collective, from_.pointer, to.pointer, count, int(dtype), int(op), root, stream)
        return destination

    def _check(self, what: Collective, source: CudaArray, destination: CudaArray, count: int, root: int) -> None:
        """UsageError where arrays are not what the collective takes."""
        if not 0 <= root < self.size:
            raise UsageError(f"{what}: root {root}: there are ranks 0 to {self.size - 1}")
        needs = extent(what, count, self.rank, self.size, root)
        for name, array, wanted in (("source", source, needs.source), ("destination", destination, needs.destination)):
            if wanted and array.count != wanted:
                raise UsageError(f"{what}: the {name} has {array.count} elements, and needs {wanted}")
        if needs.source and needs.destination and source.dtype is not destination.dtype:
            raise UsageError(f"{what}: {source.dtype.label} and {destination.dtype.label}: both arrays are of one type")
        if what not in IN_PLACE and source.pointer == destination.pointer:
            raise UsageError(f"{what} cannot be run in place")

    def _call_v(
        self, source: Any, send_counts: Sequence[int], destination: Any, recv_counts: Sequence[int], async_op: bool
    ) -> Any:
        raise UsageError("alltoallv does not run on GPUs yet")
