# SPDX-License-Identifier: Apache-2.0
"""One rank's connections as the native engine takes them: rings, trees, a board where all ranks share memory, and
pairs once something goes from one rank to another.
"""

from collections.abc import Sequence

from railgauge._native import collectives as native
from railgauge._native.transports import Board, Doorbell, Receiver, Sender
from railgauge.collectives.plan import Tree
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.connect import Connector, End
from railgauge.transports.fault import Fault
from railgauge.transports.peer import Peer
from railgauge.transports.select import why_not_shm
from railgauge.transports.wire import Nets, Wire, ring_wires, tree_wires, wire

PLACE_BYTES = 64 << 10
"""Of a board: eight of these for each rank stay in a core's second-level cache."""
ANY_SOCKET: Nets = [0, 0]


class Connections:
    """What this rank is connected with. Made by all ranks together."""

    def __init__(self, bootstrap: Bootstrap, peers: Sequence[Peer], fault: Fault | None) -> None:
        self._rank = bootstrap.rank
        self._peers = peers
        self._bootstrap = bootstrap
        self.doorbell = Doorbell()
        self._connector = Connector(bootstrap, self.doorbell, fault)
        self.ends: dict[Wire, End] = {}

    def rings(self, rings: Sequence[list[int]], nets: Sequence[list[Nets]]) -> list[native.RingChannel]:
        """Connect rings, ranks in ring order; they are the first channels. Errors are those of `Connector.connect`."""
        steps = [ring_wires(number, *pair) for number, pair in enumerate(zip(rings, nets, strict=True))]
        self.ends |= self._connector.connect([step for ring in steps for step in ring])
        return [self._ring(number, ring) for number, ring in enumerate(rings)]

    def trees(self, trees: Sequence[Tree], first_channel: int) -> list[native.TreeChannel]:
        """Connect trees, as channels from `first_channel` on. Errors are those of `Connector.connect`."""
        steps = [
            tree_wires(channel, tree.parents, tree.up, tree.down) for channel, tree in enumerate(trees, first_channel)
        ]
        self.ends |= self._connector.connect([step for tree in steps for step in tree])
        return [self._tree(channel, tree.parents) for channel, tree in enumerate(trees, first_channel)]

    def pairs(self, channel: int) -> list[native.Pair]:
        """Connect every rank with every other."""
        wires = [
            wire(channel, source, target, None if why_not_shm(a, b) is None else ANY_SOCKET)
            for source, a in enumerate(self._peers)
            for target, b in enumerate(self._peers)
            if source != target
        ]
        self.ends |= self._connector.connect(wires)
        ranks = range(len(self._peers))
        return [native.Pair(self.sender(channel, peer), self.receiver(channel, peer)) for peer in ranks]

    def board(self) -> Board:
        """Open the boards of all ranks, which share memory."""
        return self._connector.board(PLACE_BYTES)

    def sender(self, channel: int, target: int) -> Sender | None:
        """This rank's end of the wire to `target`; None where there is none."""
        ends = self._of(channel, self._rank, target)
        return next(iter(ends), None)  # type: ignore[return-value]

    def receiver(self, channel: int, source: int) -> Receiver | None:
        """This rank's end of the wire from `source`; None where there is none."""
        ends = self._of(channel, source, self._rank)
        return next(iter(ends), None)  # type: ignore[return-value]

    def abort(self) -> None:
        """Wake this rank, and close its sockets."""
        self.doorbell.abort()
        if self._connector.proxy:
            self._connector.proxy.abort()

    def close(self) -> None:
        """Send what the others still have to get, and end; harmless when called twice."""
        if self._connector.proxy:
            self._connector.proxy.close()

    def _of(self, *name: int) -> list[End]:
        return [end for wire, end in self.ends.items() if (wire.channel, wire.source, wire.target) == name]

    def _ring(self, channel: int, ring: list[int]) -> native.RingChannel:
        place = ring.index(self._rank)
        following, previous = ring[(place + 1) % len(ring)], ring[place - 1]
        return native.RingChannel(place, ring, self.sender(channel, following), self.receiver(channel, previous))

    def _tree(self, channel: int, parents: list[int]) -> native.TreeChannel:
        children = [rank for rank, parent in enumerate(parents) if parent == self._rank]
        return native.TreeChannel(self._edge(channel, parents[self._rank]), [self._edge(channel, c) for c in children])

    def _edge(self, channel: int, peer: int) -> native.TreeEdge:
        return native.TreeEdge(self.sender(channel, peer), self.receiver(channel, peer))
