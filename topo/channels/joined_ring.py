# SPDX-License-Identifier: Apache-2.0
"""A channel's ring over all nodes: each node's ranks in its own order, the last of one to the first of the next.

`connectRings` of NCCL's src/graph/connect.cc. If a node crosses NICs only where that is better (crossNic 2),
its channels come in pairs that enter where the other leaves, and every second node swaps them
(`ncclTopoPostset`): so a ring stays on its rail.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.graph import Channel
from railgauge.topo.channels.member import MemberNode, edge
from railgauge.topo.nccl.settings.steering import CROSS_IF_BETTER


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRing:
    """All ranks in ring order, from the first node on, and the step that leaves each; none for one rank alone."""

    ranks: tuple[int, ...]
    edges: tuple[Edge, ...]


def join_ring(members: tuple[MemberNode, ...], number: int, channels: int) -> JoinedRing:
    """The ring of channel `number`, of `channels` on every node."""
    parts = [(member, member.ranks(_channel(member, place, number, channels))) for place, member in enumerate(members)]
    ranks = tuple(rank for _, part in parts for rank in part)
    return JoinedRing(ranks=ranks, edges=tuple(_edges(parts, number)) if len(ranks) > 1 else ())


def _channel(member: MemberNode, place: int, number: int, channels: int) -> Channel:
    ring = member.graphs.ring
    swapped = ring.cross_nic == CROSS_IF_BETTER and channels % 2 == 0 and place % 2 == 1
    return ring.channels[number ^ 1 if swapped else number]


def _edges(parts: list[tuple[MemberNode, tuple[int, ...]]], number: int) -> Iterator[Edge]:
    stops = [(member, rank) for member, ranks in parts for rank in ranks]
    for (here, source), (there, target) in zip(stops, [*stops[1:], stops[0]], strict=True):
        yield edge((here, there), (here.graphs.ring, there.graphs.ring), number, (source, target))
