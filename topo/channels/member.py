# SPDX-License-Identifier: Apache-2.0
"""A node that takes part in a job, with its own graphs and the place of its ranks among all."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.graph import Channel, Graph, Graphs
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.graph.model import System


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberNode:
    """One node: its ranks are `first_rank` and the following ones, in the order of the System's ranks."""

    name: str
    system: System
    graphs: Graphs
    first_rank: int
    _used: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        channels = (*self.graphs.ring.channels, *self.graphs.tree.channels)
        object.__setattr__(self, "_used", tuple(sorted({dev for channel in channels for dev in channel.nets})))

    @property
    def size(self) -> int:
        """The number of its ranks."""
        return len(self.system.ranks)

    def ranks(self, channel: Channel) -> tuple[int, ...]:
        """The ranks of one of its channels by their number in the job, in the channel's order."""
        return tuple(self.first_rank + rank for rank in channel.ranks)

    def nic(self, graph: Graph, number: int, rank: int) -> int:
        """The NIC by which a rank of the job leaves or enters on a channel.

        That is the channel's first NIC for its first rank and its last one for any other (`ncclTopoGetNetDev`).
        """
        channel = graph.channels[number]
        return channel.nets[0] if self.first_rank + channel.ranks[0] == rank else channel.nets[-1]

    def rail(self, dev: int) -> int:
        """The rail of a NIC: its place among those that the node's channels use, by dev number.

        Nodes of different makes may number other NICs in between.
        """
        return self._used.index(dev)


def placed(nodes: Iterable[tuple[str, System, Graphs]]) -> tuple[MemberNode, ...]:
    """The members of a job; ranks are numbered node by node.

    UsageError if a node's channels lack some of its ranks, or have no NIC with several nodes.
    """
    members: list[MemberNode] = []
    for name, system, graphs in nodes:
        first = members[-1].first_rank + members[-1].size if members else 0
        members.append(MemberNode(name=name, system=system, graphs=graphs, first_rank=first))
    for member in members:
        _check(member, several=len(members) > 1)
    return tuple(members)


def _check(member: MemberNode, *, several: bool) -> None:
    for channel in (*member.graphs.ring.channels, *member.graphs.tree.channels):
        if sorted(channel.ranks) != list(range(member.size)):
            raise UsageError(
                f"{member.name}: its channels have {len(channel.ranks)} of its {member.size} ranks, because NCCL "
                "splits the node: give a topology file of each part as a node"
            )
        if several and not channel.nets:
            raise UsageError(f"{member.name}: its channels have no NICs: search them with --nodes 2 or more")


def edge(
    members: tuple[MemberNode, MemberNode], graphs: tuple[Graph, Graph], number: int, ends: tuple[int, int]
) -> Edge:
    """The step between ranks `ends` of two members on a channel, by the NICs that their graphs give it."""
    (source, target), (one, other) = ends, members
    if one is other:
        return Edge(source=source, target=target)
    out, into = one.nic(graphs[0], number, source), other.nic(graphs[1], number, target)
    return Edge(source=source, target=target, nets=(out, into), leaves_rail=one.rail(out) != other.rail(into))
