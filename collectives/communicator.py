# SPDX-License-Identifier: Apache-2.0
"""The communicator: a group of ranks that are connected, and the collectives on it."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import Any

from railgauge._native import collectives as native
from railgauge._native.transports import FaultySender
from railgauge.collectives.collectives import Collectives, Operator
from railgauge.collectives.connections import Connections, interfaces, ring_steps
from railgauge.collectives.divided import Divided
from railgauge.collectives.dtype import Dtype, PreMulSum, Redop
from railgauge.collectives.ending import Ending
from railgauge.collectives.host_engine import STREAM_BYTES, Channels, host_engine
from railgauge.collectives.host_memory import HostMemory
from railgauge.collectives.messages import Messages, MessageWork
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.operation_order import OperationOrder
from railgauge.collectives.plan import Tree
from railgauge.collectives.point_to_point import PointToPoint
from railgauge.collectives.registered import RegisteredArrays
from railgauge.collectives.subgroups import Part, Subgroups
from railgauge.collectives.tuning import ALGORITHMS, MEDIA, PROTOCOLS, RUN_BY, TuningScope, choose, uses
from railgauge.collectives.tuning_file import Timed, times_by_collective
from railgauge.collectives.whole_numbers import check_numbers, is_number
from railgauge.collectives.work import Making
from railgauge.collectives.zero_copy import zero_copy_sizes
from railgauge.topo.errors import UnavailableError, UsageError, WaitTimeoutError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Watch
from railgauge.transports.connect import End
from railgauge.transports.fault import Fault
from railgauge.transports.group import Group
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer
from railgauge.transports.wire import Nets, Wire


class Communicator(Collectives, Divided, PointToPoint, HostMemory):
    """One rank's end of a group. Made by all ranks together; collectives not for use by two threads at once.

    Several communicators may be used in any order that does not make two ranks wait for each other.
    """

    def __init__(
        self,
        group: Group,
        peers: Sequence[Peer],
        rings: list[list[int]],
        nets: list[list[Nets]] | None = None,
        trees: Sequence[Tree] = (),
        *,
        only: Algorithm | None = None,
        network: Network = SOCKETS,
        fault: Fault | None = None,
        environ: Mapping[str, str] | None = None,
        parent: "Communicator | None" = None,
        measured: Iterable[Timed] = (),
        net_gb_per_s: float = inf,
        point_to_point: bool = False,
    ) -> None:
        """Connect the `peers`, which are all ranks of the group, over `rings`, each the ranks in ring order.

        `nets` gives for each ring and position the route of the step to the next rank (`Plan.nets`) over the `network`;
        without it, through shared memory. `trees` are connected if they are used. `only` is the algorithm for
        everything that it can run; a `fault` is injected on a ring, so that rings run everything that they can.
        `parent` is what this is split from. `measured` (tuning_file.py) and `net_gb_per_s`, which all rings together
        carry between nodes (`Plan.gb_per_s`), are for choosing algorithms. `point_to_point` connects every rank with
        every other for sends and receives. All ranks pass the same arguments.

        Raises:
            RunError: a rank was lost meanwhile, or cannot be reached. UnavailableError: an interface does not exist.
            UsageError: NCCL_ALGO or NCCL_PROTO is invalid.
        """
        self.rank = group.rank
        self.size = group.world_size
        self.peers = list(peers)
        self._group = group
        self._job = group.job
        self._parent = parent
        self._everybody: Sequence[Peer] = parent._everybody if parent else peers
        self._only = Algorithm.RING if fault else only
        self._environ = os.environ if environ is None else environ
        self._parts: list[Communicator] = []
        self._subgroups = Subgroups(group)
        self._order = OperationOrder(f"works-{group.world_rank}")
        self._closed = False
        self.tell_pairs: Callable[[Mapping[Wire, End]], None] = lambda _ends: None
        """Called with the connections of pairs once they are made, on first use."""
        nets = nets or [[None] * len(ring) for ring in rings]
        setting = TuningScope.of(
            peers,
            rings=len(rings),
            trees=len(trees),
            only=self._only,
            net_gb_per_s=net_gb_per_s,
            interfaces=interfaces(nets),
            medium=MEDIA[network.name],
        )
        self.host_ranks = setting.host_ranks
        choices = choose(setting, self._environ, times_by_collective(measured))
        self.rings, self.trees = len(rings), len(trees) if uses(choices, Algorithm.TREE) else 0
        self._network = network
        self._connections = Connections(group, network, fault)
        self._registered = RegisteredArrays(self._connections)
        self._ending = Ending(group, self._connections)
        self._watch = Watch(self._connections.standing, self._connections.abort)
        self._job.attend(self._watch)
        channels = Channels(rings, nets, trees[: self.trees])
        self._native, self._segment = host_engine(
            self._connections, self._ending, self.peers, self._everybody, group, channels, choices
        )
        self._connections.engine = self._native
        if self.size > 1:
            for collective, found in choices.items():
                self._native.choose(NUMBERS[collective], [one.numbers for one in found])
            for collective, sizes in zero_copy_sizes(setting, self._environ, STREAM_BYTES).items():
                self.run_zero_copy(collective, *sizes)
        self._messages = Messages(group, self.peers, self._everybody, network) if point_to_point else None
        group.barrier()

    def abort(self) -> None:
        """End this rank's operations here, which raise AbortedError from now on; any thread may call it.

        The other ranks wait for this one until their timeout, or abort too. Communicators that were
        split off go on.
        """
        self._ending.abort()
        self._connections.abort()
        if self._messages:
            self._messages.abort()

    def give_up(self, error: WaitTimeoutError, *, in_messages: bool = False) -> Exception:
        """End the run as if the timeout had passed in the operation under way, or with `in_messages` in a send or
        receive; returns what ended it, which names the ranks that are waited for. Any thread may call it.
        """
        ending = self._messages.ending if in_messages and self._messages else self._ending
        return ending.give_up(error)

    def group(self) -> AbstractContextManager[None]:
        """Collect the collectives called within, and run them at the end, one after another in that order. Sends and
        receives start when they are called, all at once, and are waited for at the end.

        Their arrays are checked when they are called, and must not be touched from the first call to the end. Those
        called with `async_op` are not waited for at the end. Nothing is run when an exception leaves the block. A
        nested block is part of the outer one.
        """
        return self._order.collecting()

    def barrier(self, *, async_op: bool = False) -> Any:
        """Wait until every rank is here; with `async_op` the Work does, and returns None."""
        return self._start(self._native.prepare_barrier(), None, async_op)

    def repeat(
        self,
        collective: Collective,
        source: Any,
        destination: Any,
        count: int,
        dtype: Dtype,
        op: Redop = Redop.SUM,
        root: int = 0,
        *,
        ahead: int = 0,
        times: int = 1,
    ) -> float:
        """Run a collective on raw buffers `ahead` times untimed and then `times` times; returns the seconds of one of
        the latter.

        `count` is NCCL's (`operation.extent`).
        """
        self._wait_for_queue()
        if self.size > 1 and self.choice(collective, count, dtype)[0] is Algorithm.PAIRS:
            self._connect_pairs()
        number = NUMBERS[collective]
        return self._ending.running(
            lambda: self._native.run(number, source, destination, count, int(dtype), int(op), root, ahead, times)
        )

    def choice(self, collective: Collective, count: int, dtype: Dtype) -> tuple[Algorithm, int, Protocol]:
        """The algorithm, number of channels and protocol that such an operation runs with.

        Raises:
            UsageError: the collective, type or count is invalid (an alltoallv always uses pairs).
        """
        if collective not in NUMBERS or dtype not in tuple(Dtype) or not is_number(count, 62):
            raise UsageError(
                f"choice: {collective!r:.40}, {count!r:.40}, {dtype!r:.40}: expected a collective, a count and a Dtype"
            )
        if self.size == 1:
            return ALGORITHMS[0], 1, Protocol.SIMPLE
        algorithm, channels, protocol = self._native.choice(NUMBERS[collective], count, int(dtype))
        return ALGORITHMS[algorithm], channels, PROTOCOLS[protocol]

    def run_zero_copy(
        self, collective: Collective, windows_from: int, cross_memory_from: int, cross_memory_below: int
    ) -> None:
        """Set from how many bytes a collective runs on the arrays themselves (zero_copy.py); all ranks the same.

        A communicator of several hosts, or of one rank, never does.
        """
        self._native.zero_copy(NUMBERS[collective], windows_from, cross_memory_from, cross_memory_below)

    @property
    def ran_zero_copy(self) -> bool:
        """Whether the last operation ran on the arrays themselves, since they allow it, instead of as `choice` says."""
        operations = self._native.operations
        return bool(operations) and operations[-1].algorithm == RUN_BY.index(Algorithm.ZERO_COPY)

    @property
    def ends(self) -> dict[Wire, End]:
        """This rank's connections so far."""
        return self._connections.ends

    @property
    def bytes_shown(self) -> int | None:
        """How many bytes this rank has put into the segment that it shares with its host; None without one."""
        return self._connections.bytes_shown

    def close(self) -> None:
        """Finish pending operations, send what the others still have to receive, and end, with all that were split off.

        May be called twice.
        """
        if self._closed or self._job.is_copy:
            return
        self._closed = True
        for part in tuple(self._parts):
            part.close()
        if self._parent:
            self._parent._parts.remove(self)
        self._order.close()
        if self._messages:
            self._messages.close()
        self._connections.close()
        if self._segment:
            self._segment.registered_memory.close()
        self._job.dismiss(self._watch)
        self._group.leave()

    def arm_fault(self) -> None:
        """Arm an injected fault: messages are counted from here on."""
        for sender in self._faulty():
            sender.arm()

    def fault_fired(self) -> bool:
        """Whether an injected fault has occurred on this rank."""
        return any(sender.fired for sender in self._faulty())

    def _faulty(self) -> list[FaultySender]:
        return [end for end in self.ends.values() if isinstance(end, FaultySender)]

    def _making(self, find: Callable[[], Part | None], async_op: bool, max_ctas: int | None) -> Any:
        if max_ctas is not None:
            raise UsageError("max_ctas is for communicators of GPUs")

        def make() -> "Communicator | None":
            return self._part(find())

        if async_op:
            self._check_open()
            return self._order.put(Making(make), async_op=True)
        self._wait_for_queue()
        return make()

    def _part(self, part: Part | None) -> "Communicator | None":
        """Connect some of the ranks; None for None."""
        if part is None:
            return None
        group, ranks = part
        peers = [self.peers[rank] for rank in ranks]
        ring = list(range(len(ranks)))
        try:
            made = Communicator(
                group,
                peers,
                [ring] * self.rings,
                [ring_steps(peers)] * self.rings,
                only=self._only,
                network=self._network,
                environ=self._environ,
                net_gb_per_s=self.host_ranks.net_gb_per_s,
                parent=self,
                point_to_point=self._messages is not None,
            )
        except UnavailableError as error:
            self._job.fail(str(error))  # the others wait for this rank
            raise
        self._parts.append(made)
        return made

    def _call(self, collective: int, source: Any, destination: Any, op: Operator, root: int, async_op: bool) -> Any:
        if async_op or self._closed or not self._order.is_direct or isinstance(op, PreMulSum):
            call = self._prepare(collective, source, destination, op, root)
            return self._start(call, destination, async_op)
        self._ending.check()
        try:
            while not self._native.call(collective, source, destination, op, root):
                self._connect_pairs()
        except BaseException as error:
            if isinstance(error, TypeError):
                check_numbers(op, root)
            self._ending.end(error)
            raise
        return destination

    def _prepare(self, collective: int, source: Any, destination: Any, op: Operator, root: int) -> native.Call:
        try:
            if isinstance(op, PreMulSum):
                return self._native.prepare_scaled(collective, source, destination, op.factor, root)
            return self._native.prepare(collective, source, destination, op, root)
        except TypeError:
            check_numbers(op, root)
            raise

    def _call_v(
        self, source: Any, send_counts: Sequence[int], destination: Any, recv_counts: Sequence[int], async_op: bool
    ) -> Any:
        counts = [list(send_counts), list(recv_counts)]
        for count in (*counts[0], *counts[1]):
            if not is_number(count, 63):
                raise UsageError(f"alltoallv: count {count!r:.40}: expected whole numbers of elements")
        call = self._native.prepare_all_to_all_v(source, counts[0], destination, counts[1])
        return self._start(call, destination, async_op)

    def _start(self, call: native.Call, destination: Any, async_op: bool) -> Any:
        """Run it, now or when its turn comes."""
        self._check_open()
        return self._order.start(lambda: self._execute(call), destination, async_op=async_op)

    def _point_to_point(self) -> Messages:
        self._check_open()
        if self._messages is None:
            raise UsageError("this communicator has no point to point: make it with point_to_point=True")
        return self._messages

    def _finish(self, work: MessageWork) -> bool:
        return self._order.finish(work)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this group is closed")
        if self._job.is_copy:  # a forked copy must not wait for a thread that only its parent has
            self._ending.check()

    def _wait_for_queue(self) -> None:
        """Wait for operations that were started before."""
        self._check_open()
        self._order.drain()

    def _execute(self, call: native.Call) -> None:
        self._ending.check()
        if call.in_pairs:
            self._connect_pairs()
        self._ending.running(lambda: self._native.execute(call))

    def _connect_pairs(self) -> None:
        if self._native.has_pairs:
            return
        before = set(self.ends)
        self._ending.connecting(lambda: self._native.connect_pairs(self._connections))
        self.tell_pairs({wire: end for wire, end in self.ends.items() if wire not in before})
