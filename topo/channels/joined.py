# SPDX-License-Identifier: Apache-2.0
"""The channels of several nodes joined into the plan that all ranks execute.

As NCCL 2.30 does it after the search (`initTransportsRank` of src/init.cc, `ncclTopoPostset` of src/graph/connect.cc):
as many channels as every node has, in each a ring and two trees. One node alone is joined the same way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.topo.channels.executed import executed
from railgauge.topo.channels.graph import Graph, Graphs
from railgauge.topo.channels.joined_nics import SharedNic, shared_nics
from railgauge.topo.channels.joined_ring import JoinedRing, join_ring
from railgauge.topo.channels.joined_tree import JoinedTree, join_trees
from railgauge.topo.channels.member import MemberNode, placed
from railgauge.topo.nccl.graph.model import PATH_TYPES, System
from railgauge.topo.nccl.settings.steering import Steering

DEFAULTS = Steering()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What all nodes support for one pattern: the lowest speeds (GB/s per channel), the furthest path types.

    cross_nic is the highest; same_channels is 1 only if it is on every node.
    """

    cross_nic: int
    same_channels: int
    type_intra: str
    type_inter: str
    gb_per_s_intra: float
    gb_per_s_inter: float

    def speed(self, nodes: int) -> float:
        """GB/s of a channel over that number of nodes."""
        return self.gb_per_s_intra if nodes == 1 else min(self.gb_per_s_intra, self.gb_per_s_inter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The plan: `rings` holds a ring for each channel, `trees` the first tree of each and then the second of each.

    `executed` names for each channel that NCCL runs its place in `trees`, and modulo the number of rings its ring.
    """

    members: tuple[MemberNode, ...]
    ring: Agreed
    tree: Agreed
    rings: tuple[JoinedRing, ...]
    trees: tuple[JoinedTree, ...]
    executed: tuple[int, ...]
    shared_nics: tuple[SharedNic, ...]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return sum(member.size for member in self.members)

    @property
    def gb_per_s(self) -> float:
        """GB/s of all rings together; if a NIC is overloaded, all wait for the rings that share it."""
        speed = self.ring.speed(len(self.members))
        return len(self.rings) * speed / max([1.0, *(nic.share for nic in self.shared_nics)])

    @property
    def slowest(self) -> MemberNode | None:
        """The node whose links hold the rings back, since they run slower than planned; None without such a node."""
        speed = self.ring.speed(len(self.members))
        slow = min(self.members, key=self._real_speed)
        return slow if self._real_speed(slow) < speed else None

    @property
    def real_gb_per_s(self) -> float:
        """GB/s of all rings together as the links of the nodes run."""
        slow = self.slowest
        return self.gb_per_s * self._real_speed(slow) / self.ring.speed(len(self.members)) if slow else self.gb_per_s

    def _real_speed(self, member: MemberNode) -> float:
        graph = member.graphs.ring
        return graph.real_total(len(self.members)) / len(graph.channels)

    def node_of(self, rank: int) -> int:
        """The number of the node that a rank is on."""
        return max(place for place, member in enumerate(self.members) if member.first_rank <= rank)


def join(nodes: Iterable[tuple[str, System, Graphs]], steering: Steering = DEFAULTS) -> Joined:
    """Join nodes, each with a name, its System and its own graphs; its ranks follow those of the node before.

    UsageError if the channels of a node lack some of its ranks, or have no NIC with several nodes.
    """
    members = placed(nodes)
    rings, trees = [member.graphs.ring for member in members], [member.graphs.tree for member in members]
    channels = min(len(graph.channels) for graph in (*rings, *trees))
    ring = _agreed(rings)
    joined_rings = tuple(join_ring(members, number, channels) for number in range(channels))
    pairs = [join_trees(members, number) for number in range(channels)]
    return Joined(
        members=members,
        ring=ring,
        tree=_agreed(trees),
        rings=joined_rings,
        trees=(*(first for first, _ in pairs), *(second for _, second in pairs)),
        executed=executed(
            channels, steering, nodes=len(members), least_sm=_least_sm(members), gb_per_s_intra=ring.gb_per_s_intra
        ),
        shared_nics=shared_nics(members, joined_rings, ring.speed(len(members))),
    )


def _agreed(graphs: Sequence[Graph]) -> Agreed:
    return Agreed(
        cross_nic=max(graph.cross_nic for graph in graphs),
        same_channels=min(graph.same_channels for graph in graphs),
        type_intra=max((graph.type_intra for graph in graphs), key=PATH_TYPES.index),
        type_inter=max((graph.type_inter for graph in graphs), key=PATH_TYPES.index),
        gb_per_s_intra=min(graph.gb_per_s_intra for graph in graphs),
        gb_per_s_inter=min(graph.gb_per_s_inter for graph in graphs),
    )


def _least_sm(members: Sequence[MemberNode]) -> int | None:
    return min((rank.sm for member in members for rank in member.system.ranks if rank.sm is not None), default=None)
