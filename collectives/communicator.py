# SPDX-License-Identifier: Apache-2.0
"""The communicator: a group of ranks that are connected, and the collectives on it."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from railgauge._native import collectives as native
from railgauge._native.transports import FaultySender
from railgauge.collectives.buffers import Array, array_of
from railgauge.collectives.connections import Connections
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.operation import NUMBERS, WITHIN_PLACE, Extent, extent
from railgauge.collectives.plan import Tree
from railgauge.collectives.tuning import ALGORITHMS, Setting, choose, uses
from railgauge.topo.algorithm import Algorithm, Collective
from railgauge.topo.errors import AbortedError, PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.connect import End
from railgauge.transports.fault import Fault
from railgauge.transports.peer import Peer
from railgauge.transports.select import why_not_shm
from railgauge.transports.wire import Nets, Wire

SPIN_S = 2e-3
"""Polling before sleeping, when every rank has a core of its own: longer than a turn of a large ring takes. One sleeper
makes its neighbours wait longer, so that they sleep too: 32 ranks on 64 cores took 4.5 ms for 8 bytes with 50 us."""
NET_SPIN_S = 50e-6
"""The same over sockets, where a turn takes longer than waking from sleep does."""
CROWDED_SPIN_S = 5e-6
"""The same with more ranks (and their proxies) than cores, where polling takes time from the one that is waited for."""
MIN_CHANNEL_BYTES = 64 << 10
"""A channel carries this much before another one is used: less is over sooner than a second one has begun."""
STREAM_BYTES = 32 << 20
"""Results of this size and more are written past the caches, which could not keep them anyway."""

T = TypeVar("T")


class Communicator:
    """One rank's end of a group. Made by all ranks together; not for use by two threads at once.

    Every rank calls the same collectives in the same order. Arrays are C-contiguous, in host memory, of anything that
    exports DLPack or the buffer protocol, and of one type on all ranks; how many elements a collective moves follows
    from their sizes. Each method returns its destination and raises

        UsageError: arrays of the wrong size or type, not contiguous, read-only, or overlapping otherwise than in place.
        RunError: a rank was lost, the ranks disagree, or the timeout passed; the communicator is then unusable.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        peers: list[Peer],
        rings: list[list[int]],
        nets: list[list[Nets]] | None = None,
        trees: Sequence[Tree] = (),
        *,
        only: Algorithm | None = None,
        fault: Fault | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Connect the `peers`, which are all ranks, over `rings`, each the ranks in ring order; all give the same.

        `nets` says for each ring and place how the step to the next rank goes (`Plan.nets`); without it, through
        shared memory. `trees` are connected if they are used. `only` runs everything that it can; a `fault` comes on a
        ring, so that rings run everything that they can.

        Raises:
            RunError: a rank was lost meanwhile, or cannot be reached. UnavailableError: an interface is not there.
            UsageError: NCCL_ALGO or NCCL_PROTO is not understood.
        """
        self.rank = bootstrap.rank
        self.size = bootstrap.world_size
        self.peers = peers
        self._bootstrap = bootstrap
        self._closed = False
        self._connections = Connections(bootstrap, peers, fault)
        bootstrap.on_abort = self._connections.abort
        setting = Setting(
            ranks=self.size,
            nodes=len({peer.host_id for peer in peers}),
            rings=len(rings),
            trees=len(trees),
            one_host=all(why_not_shm(peers[0], peer) is None for peer in peers),
            only=Algorithm.RING if fault else only,
        )
        choices = choose(setting, os.environ if environ is None else environ)
        self.rings, self.trees = len(rings), len(trees) if uses(choices, Algorithm.TREE) else 0
        self._native = self._connect(
            rings, nets or [[None] * len(ring) for ring in rings], trees[: self.trees], setting
        )
        if self.size > 1:
            for collective, found in choices.items():
                told = [(one.up_to_bytes, ALGORITHMS.index(one.algorithm), one.channels) for one in found]
                self._native.choose(NUMBERS[collective], told)
        bootstrap.blocked_on = lambda: self._native.blocked_on
        bootstrap.barrier()

    def all_reduce(self, source: Any, destination: Any = None, op: Redop = Redop.SUM) -> Any:
        """Reduce element-wise over all ranks; every rank gets the result.

        Args:
            source: n elements.
            destination: n elements; without it, `source` itself.
            op: sum, prod, min, max, or avg (the sum divided by the ranks; integers round toward zero).
        """
        into = source if destination is None else destination
        return self._run(Collective.ALL_REDUCE, source, into, op)

    def all_gather(self, source: Any, destination: Any) -> Any:
        """Give every rank all ranks' elements.

        Args:
            source: n elements; in place: destination[rank * n : (rank + 1) * n].
            destination: size * n elements, by rank.
        """
        return self._run(Collective.ALL_GATHER, source, destination)

    def reduce_scatter(self, source: Any, destination: Any, op: Redop = Redop.SUM) -> Any:
        """Reduce element-wise over all ranks; every rank gets its part of the result.

        Args:
            source: size * n elements.
            destination: n elements; in place: source[rank * n : (rank + 1) * n].
            op: as in all_reduce.
        """
        return self._run(Collective.REDUCE_SCATTER, source, destination, op)

    def broadcast(self, source: Any, destination: Any = None, root: int = 0) -> Any:
        """Give every rank the root's elements.

        Args:
            source: n elements; only the root's are read.
            destination: n elements; without it, `source` itself.
            root: the rank whose elements they are.
        """
        return self._run(Collective.BROADCAST, source, source if destination is None else destination, root=root)

    def reduce(self, source: Any, destination: Any = None, op: Redop = Redop.SUM, root: int = 0) -> Any:
        """Reduce element-wise over all ranks; the root gets the result.

        Args:
            source: n elements.
            destination: n elements, of the root only; without it, `source` itself.
            op: as in all_reduce.
            root: the rank that gets the result.
        """
        return self._run(Collective.REDUCE, source, source if destination is None else destination, op, root)

    def alltoall(self, source: Any, destination: Any) -> Any:
        """Give part p of every rank's elements to rank p.

        Args:
            source: size * n elements, by the rank that they are for. Not the destination.
            destination: size * n elements, by the rank that they are from.
        """
        return self._run(Collective.ALL_TO_ALL, source, destination)

    def alltoallv(self, source: Any, send_counts: Sequence[int], destination: Any, recv_counts: Sequence[int]) -> Any:
        """The same with parts of any length, one after another.

        Args:
            source: sum(send_counts) elements.
            send_counts: how many are for each rank.
            destination: sum(recv_counts) elements.
            recv_counts: how many come from each rank, which has to send as many.
        """
        give, take = self._arrays(source, destination)
        to, come = _parts(send_counts, self.size, give, "send"), _parts(recv_counts, self.size, take, "recv")
        if _overlap(give, take):
            raise UsageError("alltoallv: source and destination overlap")
        self._connect_pairs()
        self._guard(lambda: self._native.all_to_all_v(give.raw, to, take.raw, come, int(give.dtype)))
        return destination

    def gather(self, source: Any, destination: Any = None, root: int = 0) -> Any:
        """Give the root all ranks' elements.

        Args:
            source: n elements; in place, of the root: destination[root * n : (root + 1) * n].
            destination: size * n elements, by rank; of the root only.
            root: the rank that gets them.
        """
        return self._run(Collective.GATHER, source, destination, root=root)

    def scatter(self, source: Any, destination: Any, root: int = 0) -> Any:
        """Give every rank its part of the root's elements.

        Args:
            source: size * n elements, by rank; of the root only.
            destination: n elements; in place, of the root: source[root * n : (root + 1) * n].
            root: the rank whose elements they are.
        """
        return self._run(Collective.SCATTER, source, destination, root=root)

    def sendrecv(self, source: Any, destination: Any) -> Any:
        """Give this rank's elements to the next rank, and take the previous one's; the first follows the last.

        Args:
            source: n elements.
            destination: n elements; not the source.
        """
        return self._run(Collective.SEND_RECV, source, destination)

    def barrier(self) -> None:
        """Wait until every rank is here."""
        one = bytearray(1)
        self.repeat(Collective.ALL_REDUCE, one, one, 1, Dtype.UINT8)

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
        """Run a collective on raw buffers `ahead` and then `times` times; return the seconds one of the latter took.

        `count` is NCCL's (`operation.extent`).
        """
        self._connect_what_is_needed(collective, count, dtype)
        number = NUMBERS[collective]
        return self._guard(
            lambda: self._native.run(number, source, destination, count, int(dtype), int(op), root, ahead, times)
        )

    def choice(self, collective: Collective, count: int, dtype: Dtype) -> tuple[Algorithm, int]:
        """The algorithm that runs such an operation, and how many channels it uses."""
        if self.size == 1:
            return ALGORITHMS[0], 1
        algorithm, channels = self._native.choice(NUMBERS[collective], count, int(dtype))
        return ALGORITHMS[algorithm], channels

    @property
    def ends(self) -> dict[Wire, End]:
        """This rank's connections so far."""
        return self._connections.ends

    def close(self) -> None:
        """Send what the others still have to get, and end; harmless when called twice."""
        self._closed = True
        self._connections.close()

    def arm_fault(self) -> None:
        """Let an injected fault come: messages count from here on."""
        for sender in self._faulty():
            sender.arm()

    def fault_fired(self) -> bool:
        """Whether an injected fault has come on this rank."""
        return any(sender.fired for sender in self._faulty())

    def _faulty(self) -> list[FaultySender]:
        return [end for end in self.ends.values() if isinstance(end, FaultySender)]

    def _run(self, collective: Collective, source: Any, destination: Any, op: Redop = Redop.SUM, root: int = 0) -> Any:
        give, take = self._arrays(source, destination)
        count = self._count(collective, give, take, root)
        self.repeat(collective, give.raw, take.raw, count, give.dtype, op, root)
        return destination

    def _arrays(self, source: Any, destination: Any) -> tuple[Array, Array]:
        """Both arrays; one that is not there is empty."""
        give = None if source is None else array_of(source, "source", written=False)
        take = None if destination is None else array_of(destination, "destination", written=True)
        known = give or take
        if known is None:
            raise UsageError("neither source nor destination is given")
        if give and take and give.dtype is not take.dtype:
            raise UsageError(f"source is {give.dtype.label}, destination {take.dtype.label}")
        nothing = Array(bytearray(0), known.dtype, 0, 0)
        return give or nothing, take or nothing

    def _count(self, collective: Collective, give: Array, take: Array, root: int) -> int:
        """NCCL's count, from the sizes; an error where they do not fit together."""
        if not 0 <= root < self.size:
            raise UsageError(f"root {root}: ranks are 0 to {self.size - 1}")
        one = extent(collective, 1, self.rank, self.size, root)
        count = take.count // one.destination if one.destination else give.count // one.source
        need = extent(collective, count, self.rank, self.size, root)
        given = give.count if need.source else 0
        taken = take.count if need.destination else 0
        if (given, taken) != (need.source, need.destination):
            raise UsageError(
                f"{collective} over {self.size} ranks: source has {give.count} elements and destination {take.count}, "
                f"where {need.source} and {need.destination} belong together"
            )
        self._check_overlap(collective, give, take, need)
        return count

    def _check_overlap(self, collective: Collective, give: Array, take: Array, need: Extent) -> None:
        if not (need.source and need.destination and _overlap(give, take)):
            return
        here = give.address - need.source_at * give.dtype.bytes == take.address - need.destination_at * give.dtype.bytes
        if not here or collective not in WITHIN_PLACE:
            raise UsageError(f"{collective}: source and destination overlap, and not as they may in place")

    def _connect_what_is_needed(self, collective: Collective, count: int, dtype: Dtype) -> None:
        if self.size > 1 and self.choice(collective, count, dtype)[0] is Algorithm.PAIRS:
            self._connect_pairs()

    def _connect_pairs(self) -> None:
        if not self._native.has_pairs:
            self._native.connect_pairs(self._failing(lambda: self._connections.pairs(self.rings + self.trees)))

    def _connect(
        self, rings: list[list[int]], nets: list[list[Nets]], trees: Sequence[Tree], setting: Setting
    ) -> native.Communicator:
        made = self._connections
        channels = self._failing(lambda: made.rings(rings, nets))
        tree_channels = self._failing(lambda: made.trees(trees, len(rings))) if trees else []
        board = self._failing(made.board) if setting.one_host and self.size > 1 else None
        return native.Communicator(
            self.rank,
            self.size,
            made.doorbell,
            channels,
            tree_channels,
            board,
            timeout_s=self._bootstrap.timeout_s,
            spin_s=self._spin_s(sockets=any(wire.devices for wire in made.ends)),
            min_channel_bytes=MIN_CHANNEL_BYTES,
            stream_bytes=STREAM_BYTES,
        )

    def _failing(self, connect: Callable[[], T]) -> T:
        """What `connect` makes; when it fails all ranks are told, and the first error of all is raised."""
        try:
            return connect()
        except RunError as error:
            self._bootstrap.fail(str(error))
            raise self._bootstrap.wait_for_failure(error) from None

    def _guard(self, operation: Callable[[], T]) -> T:
        """Run an operation; when it fails all ranks are told, and what ended the run is raised."""
        if self._closed:
            raise UsageError("this group is closed")
        try:
            return operation()
        except WaitTimeoutError as error:
            self._bootstrap.fail(str(error), self._native.blocked_on)
            raise self._bootstrap.wait_for_failure(error) from None
        except PeerLostError as error:
            self._bootstrap.fail(str(error), (self.rank if error.rank is None else error.rank, False))
            raise self._bootstrap.wait_for_failure(error) from None
        except AbortedError as error:
            raise self._bootstrap.wait_for_failure(error) from None
        except RunError as error:
            self._bootstrap.fail(str(error))
            raise

    def _spin_s(self, *, sockets: bool) -> float:
        here = [p for p in self.peers if p.host_id == self.peers[self.rank].host_id]
        threads = len(here) * (2 if sockets else 1)
        if threads > len({cpu for p in here for cpu in p.cpus}):
            return CROWDED_SPIN_S
        return NET_SPIN_S if sockets else SPIN_S


def _overlap(give: Array, take: Array) -> bool:
    return give.address < take.address + take.bytes and take.address < give.address + give.bytes


def _parts(counts: Sequence[int], ranks: int, array: Array, what: str) -> list[tuple[int, int]]:
    """(offset, count) of each rank's part."""
    if len(counts) != ranks or any(count < 0 for count in counts) or sum(counts) != array.count:
        raise UsageError(
            f"alltoallv: {what}_counts has to be {ranks} numbers that come to the array's {array.count} elements"
        )
    offsets = [sum(counts[:place]) for place in range(ranks)]
    return list(zip(offsets, counts, strict=True))
