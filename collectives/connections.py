# SPDX-License-Identifier: Apache-2.0
"""One rank's connections as the native engine takes them: rings, trees, hypercubes, a segment that ranks of a host
share, and pairs on first use.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge._native import collectives as native
from railgauge._native.transports import Doorbell, Receiver, Sender, SharedSegment
from railgauge.collectives.cost.calibration import HOST_PLACE_BYTES
from railgauge.collectives.flight_recorder import standing
from railgauge.collectives.plan import Tree
from railgauge.collectives.rails import Rails
from railgauge.transports.connect import Connector, End
from railgauge.transports.fault import Fault
from railgauge.transports.group import Group
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.standing import BlockedOn, Standing
from railgauge.transports.wire import Nets, Wire, ring_wires, tree_wires, unplanned_step, wire


class Connections:
    """This rank's connections in a group. Made by all its ranks together.

    Rings, trees and `peers` count ranks in the group; wires, and what the native engine reports, in the job.
    """

    def __init__(self, group: Group, peers: Sequence[Peer], network: Network, fault: Fault | None) -> None:
        self._group = group
        self._rank = group.rank
        self._members = group.members
        self._peers = peers
        self.doorbell = Doorbell()
        self._network = network
        self._connector = Connector(group, self.doorbell, fault, network)
        self.ends: dict[Wire, End] = {}
        self._senders: dict[tuple[int, int, int], Sender] = {}
        self._receivers: dict[tuple[int, int, int], Receiver] = {}
        """By the name of the wire."""
        self.engine: native.Communicator | None = None
        """The native communicator that uses them, once it is made."""
        self._segment: SharedSegment | None = None

    def rings(self, rings: Sequence[list[int]], nets: Sequence[list[Nets]]) -> list[native.RingChannel]:
        """Connect rings, ranks in ring order; they are the first channels. Errors are those of `Connector.connect`."""
        steps = [ring_wires(number, *pair) for number, pair in enumerate(zip(rings, nets, strict=True))]
        self._connect([step for ring in steps for step in ring])
        return [self._ring(number, ring) for number, ring in enumerate(rings)]

    def trees(self, trees: Sequence[Tree], first_channel: int) -> list[native.TreeChannel]:
        """Connect trees, as channels from `first_channel` on. Errors are those of `Connector.connect`."""
        steps = [
            tree_wires(channel, tree.parents, tree.up, tree.down) for channel, tree in enumerate(trees, first_channel)
        ]
        self._connect([step for tree in steps for step in tree])
        return [self._tree(channel, tree.parents) for channel, tree in enumerate(trees, first_channel)]

    def pairs(self, channel: int) -> list[native.Pair]:
        """Connect every rank with every other."""
        everybody = list(enumerate(self._peers))
        steps = ((a, b, unplanned_step(one, other)) for a, one in everybody for b, other in everybody if a != b)
        return self.joined(channel, steps)

    def joined(self, channel: int, steps: Iterable[tuple[int, int, Nets]]) -> list[native.Pair]:
        """Connect pairs of ranks over the given routes; by rank this one's pair with it, empty where it has none."""
        self._connect([wire(channel, source, target, nets) for source, target, nets in steps])
        ranks = range(len(self._peers))
        return [native.Pair(self._sender(channel, peer), self._receiver(channel, peer)) for peer in ranks]

    def shared_segment(self, sharing: Sequence[int]) -> SharedSegment:
        """Open the shared segments of the ranks that share memory with this one, including its own."""
        self._segment = self._connector.shared_segment(HOST_PLACE_BYTES, sharing)
        return self._segment

    @property
    def bytes_shown(self) -> int | None:
        """How many bytes this rank has put into its shared segment; None without one."""
        return None if self._segment is None else self._segment.bytes

    def cube(self, hosts: Sequence[list[int]], channel: int, rails: Rails) -> native.Cube | None:
        """Connect all ranks as a hypercube, host by host."""
        return self._cubes([[rank for ranks in hosts for rank in ranks]], channel, rails)

    def across(self, hosts: Sequence[list[int]], channel: int, rails: Rails) -> native.Cube | None:
        """Connect the ranks of equal position on their hosts as a hypercube each; None at a rank whose position not all
        hosts have.
        """
        return self._cubes([list(ranks) for ranks in zip(*hosts, strict=False)], channel, rails)

    def register(self, address: int, size: int) -> bool:
        """Register memory with RDMA devices; returns whether they send from it from now on. Errors are those of
        `Connector.register`.
        """
        return self._connector.register(address, size)

    def deregister(self, address: int, size: int) -> None:
        """Take one `register` back."""
        self._connector.deregister(address, size)

    @property
    def is_amid(self) -> bool:
        """Whether an operation has started and not ended."""
        return self.engine is not None and self.engine.is_amid

    def standing(self) -> Standing:
        """This rank's state here, by its number in the job; for any thread."""
        if self.engine is None:
            return Standing(self._group.name, list(self._members), [], BlockedOn())
        return standing(self.engine, self._group)

    def abort(self) -> None:
        """Wake this rank, and close its connections over the network."""
        self.doorbell.abort()
        self._connector.abort()

    def close(self) -> None:
        """Send what the others still have to receive, and end; may be called twice."""
        self._connector.close()

    def _cubes(self, cubes: Sequence[list[int]], channel: int, rails: Rails) -> native.Cube | None:
        """Connect hypercubes, which have no rank in common; returns this rank's, None where it is in none."""
        wires = [
            wire(channel, order[at], order[peer], rails.step(order[at], order[peer]))
            for order in cubes
            for at in range(len(order))
            for peer in native.cube_neighbours(at, len(order))
        ]
        self._connect(wires)
        own = next((order for order in cubes if self._rank in order), None)
        if own is None:
            return None
        peers = [native.Pair(self._sender(channel, peer), self._receiver(channel, peer)) for peer in own]
        return native.Cube(own, own.index(self._rank), peers)

    def _connect(self, wires: Iterable[Wire]) -> None:
        made = self._connector.connect([self._in_job(one) for one in wires])
        self.ends |= made
        self._senders |= {one.name: end for one, end in made.items() if isinstance(end, Sender)}
        self._receivers |= {one.name: end for one, end in made.items() if isinstance(end, Receiver)}

    def _in_job(self, one: Wire) -> Wire:
        """A wire by the ranks' numbers in the job, and by NICs that they have."""
        network = self._network
        source, target = self._members[one.source], self._members[one.target]
        devices = one.devices and network.devices_of((source, target), one.devices)
        return replace(one, source=source, target=target, devices=devices, network=network.name)

    def _sender(self, channel: int, target: int) -> Sender | None:
        """This rank's end of the wire to `target`; None where there is none."""
        return self._senders.get((channel, self._members[self._rank], self._members[target]))

    def _receiver(self, channel: int, source: int) -> Receiver | None:
        """This rank's end of the wire from `source`; None where there is none."""
        return self._receivers.get((channel, self._members[source], self._members[self._rank]))

    def _ring(self, channel: int, ring: list[int]) -> native.RingChannel:
        place = ring.index(self._rank)
        following, previous = ring[(place + 1) % len(ring)], ring[place - 1]
        return native.RingChannel(place, ring, self._sender(channel, following), self._receiver(channel, previous))

    def _tree(self, channel: int, parents: list[int]) -> native.TreeChannel:
        children = [rank for rank, parent in enumerate(parents) if parent == self._rank]
        return native.TreeChannel(self._edge(channel, parents[self._rank]), [self._edge(channel, c) for c in children])

    def _edge(self, channel: int, peer: int) -> native.TreeEdge:
        if peer < 0:
            return native.TreeEdge()
        return native.TreeEdge(self._sender(channel, peer), self._receiver(channel, peer))


def ring_steps(peers: Sequence[Peer]) -> list[Nets]:
    """The route of each step of a ring that is not in a plan, ranks in ring order."""
    return [unplanned_step(a, b) for a, b in zip(peers, [*peers[1:], peers[0]], strict=True)]
