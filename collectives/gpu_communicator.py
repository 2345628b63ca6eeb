# SPDX-License-Identifier: Apache-2.0
"""Collectives on arrays in the memory of GPUs: a GPU for each rank, over the channels of a plan."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from railgauge._native import collectives as native
from railgauge.collectives.bench import Ran
from railgauge.collectives.case import OperationCase
from railgauge.collectives.collectives import Collectives, Operator
from railgauge.collectives.cost.gpu_cost import GpuRanks, predicted_busbw
from railgauge.collectives.cuda_array import CudaArray, cuda_array, current_stream
from railgauge.collectives.divided import Divided
from railgauge.collectives.dtype import Dtype, PreMulSum
from railgauge.collectives.ending import running
from railgauge.collectives.gpu_arguments import check_arrays, check_parts, reduction_of
from railgauge.collectives.gpu_blocks import BlockLimits, block_limits, of_all
from railgauge.collectives.gpu_end import GpuEnd
from railgauge.collectives.gpu_point_to_point import GpuMessage, GpuPointToPoint
from railgauge.collectives.gpu_proxies import GpuProxies
from railgauge.collectives.gpu_reach import GpuReach, find_reach
from railgauge.collectives.gpu_registration import GpuRegistration
from railgauge.collectives.gpu_way import (
    DUE,
    NAMES,
    WAYS,
    KernelLaunch,
    Layout,
    Via,
    allowed_ways,
    net_wires,
    vias_of,
)
from railgauge.collectives.gpu_work import GpuWork
from railgauge.collectives.nvls import why_none
from railgauge.collectives.operation import NUMBERS, REDUCING, WHOLE
from railgauge.collectives.plan import Plan
from railgauge.collectives.subgroups import Part, Subgroups
from railgauge.collectives.work import Making, WorkQueue
from railgauge.topo.errors import AbortedError, Error, RunError, UnavailableError, UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Watch
from railgauge.transports.group import Group
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.standing import BlockedOn, Standing
from railgauge.transports.typed import listed

COLLECTIVES = tuple(NUMBERS)
COUNTED_BY_DESTINATION = (Collective.REDUCE_SCATTER, Collective.BROADCAST, Collective.SCATTER)
"""Those whose count is how many elements each destination has, the others' that of each source."""
NOWHERE = CudaArray(0, 0, None)  # type: ignore[arg-type]  # for a rank that sends or receives nothing

T = TypeVar("T")


class GpuCommunicator(Collectives, Divided, GpuPointToPoint, GpuRegistration):
    """One rank's end of a group, with one GPU. Made by all ranks together; not for two threads at once.

    Operations are put on the stream of the caller's library (`current_stream`), in the same order on all ranks, and
    return at once: results are there when the stream has reached that point. Whatever their streams, each starts when
    the previous one has ended. They can be captured into CUDA graphs, whose replays are in that order too. If a rank
    does not take part within the timeout, the kernels that wait for it end; the next call, or `synchronize`, then
    raises PeerLostError. Results of an operation are the same bits on all ranks, and from run to run too unless
    NVSwitches reduce (RAILGAUGE_MULTICAST): else inputs are reduced in the order of the ranks, on rings in the ring's.
    """

    def __init__(
        self,
        group: Group,
        peers: Sequence[Peer],
        plan: Plan,
        network: Network,
        device: int,
        *,
        in_channels: bool = False,
        environ: Mapping[str, str] | None = None,
        max_ctas: int | None = None,
        parent: "GpuCommunicator | None" = None,
    ) -> None:
        """Connect to all ranks of the group; `device` is CUDA's number of this rank's GPU in this process. `parent` is
        what this is split from.

        `in_channels`: everything that can uses the plan's rings, as when the user has given them. `max_ctas`: how many
        blocks each kernel has at most, beside NCCL's settings (`block_limits`); the least of all ranks counts.

        Raises:
            UsageError: `max_ctas` is invalid.
            UnavailableError: on any rank, there is no GPU, no memory, or no path from GPU to GPU; all ranks raise it.
            RunError: a rank was lost meanwhile.
        """
        self.rank, self.size, self.device = group.rank, group.world_size, device
        self.peers, self.plan = list(peers), plan
        self._group, self._job = group, group.job
        self._parent, self._network = parent, network
        self._parts: list[GpuCommunicator] = []
        self._subgroups = Subgroups(group)
        self._works: WorkQueue | None = None
        self._closed = False
        self._aborted: AbortedError | None = None
        environ = os.environ if environ is None else environ
        limits = (parent._blocks if parent else block_limits(environ)).below(max_ctas)
        self._blocks: BlockLimits = of_all(group.all_gather([*limits], listed(int, int)))
        if parent:
            ranks = [parent._group.members.index(one) for one in group.members]
            self._allowed: dict[Collective, list[int]] = parent._allowed
            self._reach: GpuReach = parent._reach.part(ranks)
        else:
            self._allowed = allowed_ways(environ, in_channels=in_channels)
            self._reach = find_reach(group, peers, plan.domains, environ, device)
        vias = vias_of(peers, plan, self._reach.maps)
        self.vias = vias[self.rank]
        self.why_no_nvls = why_none(self._reach.no_nvls, vias)
        self._handle_types = self._reach.handle_types(self.vias, nvls=not self.why_no_nvls)
        layout = Layout.of(vias, nvlink=plan.nvlink, limits=self._blocks)

        def make() -> tuple[native.GpuEngine, list[bytes]]:
            shape = [int(via) for via in self.vias], layout.numbers, self._job.timeout_s, list(group.members)
            engine = native.GpuEngine(device, self.rank, *shape, self._handle_types, not self.why_no_nvls)
            return engine, engine.lend()

        kind = listed(int, listed(*[bytes] * (self.size + 1))) | None
        (self._engine, _), told = self._agree(make, lambda made: [made[0].processors, made[1]], kind)
        buffers = [one[self.rank] + one[-1] for _, one in told]
        processors = [min(count, self._blocks.most) for count, _ in told]
        self._proxies = GpuProxies(group, self._engine)
        self._watch = Watch(self._standing, self._end_waits)
        self._job.attend(self._watch)
        self._together(lambda: self.running(lambda: self._engine.connect(buffers, processors)))
        wires = net_wires(plan, network, vias, group.members)
        self._proxies.connect(wires, network, peers, plan, self.vias, device, layout.blocks, self._together)
        if self.size > 1:
            self._engine.channels(self._channels())
        if wires:
            group.barrier()

    @property
    def channels(self) -> int:
        """On how many channels of the plan rings run."""
        return len(self.plan.rings)

    @property
    def by_cuda_ipc(self) -> str:
        """Why memory that other processes map is of cudaMalloc; empty: it is not."""
        return self._reach.not_exportable if Via.IPC in self.vias else ""

    @property
    def not_by_nvlink(self) -> Sequence[str]:
        """By rank of another host why NVLink does not connect it with this one, where that may be expected."""
        return self._reach.not_by_nvlink

    @property
    def ends(self) -> list[GpuEnd]:
        """This rank's paths to the others, and the bytes moved over them; replays of a caller's CUDA graph are not
        counted.
        """
        return [
            GpuEnd(rank, NAMES.get(via) or self._proxies.leaving[rank], *traffic, self._proxies.arriving.get(rank))
            for rank, (via, traffic) in enumerate(zip(self.vias, self._engine.traffic, strict=True))
            if via is not Via.NONE
        ]

    @property
    def timeout_s(self) -> float:
        """The longest wait in an operation."""
        return self._job.timeout_s

    def running(self, operation: Callable[[], T]) -> T:
        """The result of an operation; a failure is reported to all ranks, and what ended the run is raised."""
        return running(self._job, operation, lambda: self._aborted)

    def choose(self, collective: Collective, choices: Sequence[tuple[int, KernelLaunch]]) -> None:
        """Set the launch for sizes up to each limit (bytes as nccl-tests counts them, growing); above, the default. The
        same on all ranks.
        """
        part = 1 if collective in WHOLE else self.size
        self._engine.choose(NUMBERS[collective], [(size // part, *launch.numbers) for size, launch in choices])

    def repeat(
        self,
        case: OperationCase,
        source: int,
        destination: int,
        *,
        ahead: int = 0,
        times: int = 1,
        replays: int = 0,
        launch: KernelLaunch | None = None,
    ) -> float:
        """Run a case on raw pointers `ahead` times untimed and then `times` times; the seconds of one of the latter on
        the GPU.

        With `replays` these are captured into a CUDA graph, which is run that many times. `launch` overrides the
        choice.

        Raises:
            RunError: a rank did not take part within the timeout. UsageError: it is too long for that launch.
        """
        c = case
        number = NUMBERS[c.collective]
        by = launch.numbers if launch else (self._way(c.collective, c.count, c.dtype),)
        return self.running(
            lambda: self._engine.repeat(
                number, source, destination, c.count, int(c.dtype), int(c.op), c.root, ahead, times, replays, *by
            )
        )

    def ran(self, case: OperationCase, source: int = 0, destination: int = 0) -> Ran:
        """How such an operation runs on raw pointers; without them, on arrays that are not registered."""
        way = self._way(case.collective, case.count, case.dtype)
        due = self._engine.way(NUMBERS[case.collective], case.count, int(case.dtype), source, destination)
        algorithm, protocol = WAYS[due if way == DUE else way]
        in_channels = algorithm in (Algorithm.RING, Algorithm.TREE)
        predicted = self._predicted(case, algorithm, protocol)
        return Ran(algorithm, protocol, self.channels if in_channels else 1, predicted)

    def _predicted(self, case: OperationCase, algorithm: Algorithm, protocol: Protocol) -> float:
        """GB/s by the cost model; 0 if not all GPUs reach each other's memory, which the model does not cover."""
        if not all(via is Via.NONE or via.maps_peer for via in self.vias):
            return 0.0
        between = [rate for rate in self.plan.pair_gb_per_s[self.rank] if rate > 0]
        where = GpuRanks(ranks=self.size, gb_per_s=min(between, default=0.0))
        return predicted_busbw(where, case.collective, algorithm, protocol, case.bytes(self.size)) if between else 0.0

    def put_at_once(self, collective: int, source: Any, destination: Any, op: Operator, root: int) -> bool:
        """Put a collective (its number) on its arrays' stream, where the native engine itself reads them and finds
        nothing wrong; whether it did.
        """
        try:
            usual = not (self._allowed or self._job.failure)
            return usual and self._engine.call(collective, source, destination, op, root)  # type: ignore[arg-type]
        except (TypeError, RunError):  # the longer path reports it
            return False

    def put_aside(self, *asked: Any) -> native.GpuMark | None:
        """The same on a stream, named last (CUDA's handle), after what is on the arrays': a mark behind it, or None."""
        try:
            return None if self._allowed or self._job.failure else self._engine.call_aside(*asked)
        except (TypeError, RunError):
            return None

    def synchronize(self, stream: int = 0) -> None:
        """Wait until this rank's operations on a stream (CUDA's handle) are done.

        Raises:
            RunError: a rank did not take part within the timeout.
        """
        self.running(lambda: self._engine.synchronize(stream))

    def wait(self, mark: native.GpuMark) -> None:
        """Wait until a mark of this rank's engine is reached.

        Raises:
            RunError: a rank did not take part within the timeout.
        """
        self.running(lambda: self._engine.wait(mark))

    def barrier(self) -> None:
        """Wait until every rank is here.

        Raises:
            RunError: a rank was lost, or does not take part within the timeout.
        """
        self._group.barrier()

    def abort(self) -> None:
        """End this rank's operations here, which raise AbortedError from now on; any thread may call it. The other
        ranks wait for this one until their timeout, or abort too. Communicators that were split off go on.
        """
        self._aborted = self._aborted or AbortedError(f"rank {self._group.world_rank}: this communicator was aborted")
        self._end_waits()

    def close(self) -> None:
        """Send what the others still have to receive, and end, with all that were split off; called by all ranks
        together, after the last operation. May be called twice.
        """
        if self._closed or self._job.is_copy:
            return
        self._closed = True
        if self._works:
            self._works.close()
        for part in tuple(self._parts):
            part.close()
        if self._parent:
            self._parent._parts.remove(self)
        if self._proxies.are_there:
            with contextlib.suppress(RunError):  # the run has failed
                self._group.barrier()
        self._engine.stop()
        self._proxies.close()
        self._job.dismiss(self._watch)
        self._group.leave()

    def _way(self, collective: Collective, count: int, dtype: Dtype) -> int:
        """The path that settings allow, by its number; DUE: the engine chooses."""
        if collective not in self._allowed:
            return DUE
        number = NUMBERS[collective]
        allowed = (way for way in self._allowed[collective] if self._engine.can(number, count, int(dtype), way))
        return next(allowed, DUE)

    def _agree(self, make: Callable[[], T], tell: Callable[[T], Any], kind: Any) -> tuple[T, list[Any]]:
        made: T | None = None
        error: Error | None = None
        try:
            made = make()
        except (UnavailableError, UsageError) as caught:
            error = caught
        own = [str(error), None] if error else [None, tell(made)]  # type: ignore[arg-type]
        everybody = self._group.all_gather(own, tuple[str | None, kind])
        try:
            if problems := [f"rank {rank}: {text}" for rank, (text, _) in enumerate(everybody) if text is not None]:
                raise UnavailableError("; ".join(problems)) from error
        finally:
            del error  # it holds this frame, and so the memory of its callers
        return made, [told for _, told in everybody]  # type: ignore[return-value]

    def _making(self, find: Callable[[], Part | None], async_op: bool, max_ctas: int | None) -> Any:
        self._blocks.below(max_ctas)
        part = find()
        if not async_op:
            return self._part(part, max_ctas)
        self._works = self._works or WorkQueue(f"gpu-parts-{self._group.world_rank}")
        self._works.put(making := Making(lambda: self._part(part, max_ctas)))
        return making

    def _part(self, part: Part | None, max_ctas: int | None) -> "GpuCommunicator | None":
        if part is None:
            return None
        group, ranks = part
        peers, plan = [self.peers[rank] for rank in ranks], self.plan.part(ranks)
        made = GpuCommunicator(group, peers, plan, self._network, self.device, max_ctas=max_ctas, parent=self)
        self._parts.append(made)
        return made

    def _channels(self) -> list[tuple[list[int], list[int]]]:
        """The ring and a tree of each channel; channels without a tree have a chain to rank 0."""
        rings, trees = self.plan.rings, self.plan.trees
        chain = [rank - 1 for rank in range(self.size)]
        return [(ring, trees[i].parents if i < len(trees) else chain) for i, ring in enumerate(rings)]

    def _standing(self) -> Standing:
        return Standing(self._group.name, list(self._group.members), [], BlockedOn())

    def _end_waits(self) -> None:
        self._engine.abort()
        self._proxies.abort()

    def _call(self, collective: int, source: Any, destination: Any, op: Operator, root: int, async_op: bool) -> Any:
        if self.put_at_once(collective, source, destination, op, root):
            return self._put_work(destination, current_stream(source)) if async_op else destination
        what = COLLECTIVES[collective]
        from_, to = (NOWHERE if array is None else cuda_array(array, self.device) for array in (source, destination))
        known = to if from_.dtype is None else from_
        dtype, reduction = known.dtype, reduction_of(what, op, known.kind)
        count = to.count if what in COUNTED_BY_DESTINATION else from_.count
        if what is Collective.ALL_TO_ALL:
            count //= self.size
        check_arrays(what, from_, to, count, root, rank=self.rank, size=self.size)
        stream = current_stream(source if source is not None else destination)
        operation = collective, from_.pointer, to.pointer, count, int(dtype)
        if isinstance(op, PreMulSum) and what in REDUCING:
            self.running(lambda: self._engine.run_scaled(*operation, op.factor, root, stream))
        else:
            way = self._way(what, count, dtype)
            self.running(lambda: self._engine.run(*operation, reduction, root, stream, way))
        return self._put_work(destination, stream) if async_op else destination

    def _call_v(
        self, source: Any, send_counts: Sequence[int], destination: Any, recv_counts: Sequence[int], async_op: bool
    ) -> Any:
        from_, to = (cuda_array(array, self.device) for array in (source, destination))
        check_parts(from_, send_counts, to, recv_counts, size=self.size)
        stream = current_stream(source)
        sent, received = ([count * from_.numbers for count in counts] for counts in (send_counts, recv_counts))
        parts = from_.pointer, sent, to.pointer, received, int(from_.dtype)
        self.running(lambda: self._engine.run_parts(*parts, stream))
        return self._put_work(destination, stream) if async_op else destination

    def _work(self, array: Any) -> GpuWork:
        return GpuWork(self.wait, array)

    def _put_work(self, destination: Any, stream: int) -> GpuWork:
        return self._work(destination).put(self._engine.mark(stream))

    def _put(self, messages: Sequence[GpuMessage], works: Sequence[GpuWork], stream: int) -> None:
        self.running(lambda: self._engine.run_messages(list(messages), stream))
        if works:
            mark = self._engine.mark(stream)
            for work in works:
                work.put(mark)
