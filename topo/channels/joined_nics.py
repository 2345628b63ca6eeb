# SPDX-License-Identifier: Apache-2.0
"""NICs with more joined rings than the node's own channels give them.

If channels cross NICs in pairs (crossNic 2), every second node uses the ranks of the pair's other channel, but the NICs
of its own number (`ncclTopoPostset` and `ncclTopoGetNetDev` of NCCL): a pair whose ranks and NICs do not mirror each
other then uses one NIC twice.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.joined_ring import JoinedRing
from railgauge.topo.channels.member import MemberNode
from railgauge.topo.nccl.graph.model import LinkKind, NodeKind, System


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNic:
    """The number of `rings` that leave or enter a node by a NIC, and its load (`share`, 1: full)."""

    node: int
    dev: int
    leaves: bool
    rings: int
    share: float


def shared_nics(members: Sequence[MemberNode], rings: Sequence[JoinedRing], gb_per_s: float) -> tuple[SharedNic, ...]:
    """The NICs with more rings than their node's own channels give them, fullest first; GB/s per ring."""
    node_of = [place for place, member in enumerate(members) for _ in range(member.size)]
    used: Counter[tuple[int, int, bool]] = Counter()
    for edge in (edge for ring in rings for edge in ring.edges):
        if edge.nets:
            used[node_of[edge.source], edge.nets[0], True] += 1
            used[node_of[edge.target], edge.nets[1], False] += 1
    wires = {member.name: _wires(member.system) for member in members}
    own = [_own(member, len(rings)) for member in members]
    found = [
        SharedNic(
            node=node, dev=dev, leaves=leaves, rings=count, share=count * gb_per_s / wires[members[node].name][dev]
        )
        for (node, dev, leaves), count in used.items()
        if count > own[node][dev, leaves] and dev in wires[members[node].name]
    ]
    return tuple(sorted(found, key=lambda nic: (-nic.share, nic.node, nic.dev)))


def _own(member: MemberNode, count: int) -> Counter[tuple[int, bool]]:
    """How many of a node's first channels enter by each NIC, and leave by it."""
    nets = [channel.nets for channel in member.graphs.ring.channels[:count] if channel.nets]
    return Counter([(pair[0], False) for pair in nets] + [(pair[-1], True) for pair in nets])


def _wires(system: System) -> dict[int, float]:
    """The bandwidth of each NIC in GB/s, by dev number."""
    return {
        dev_number(node): link.gb_per_s
        for link in system.links
        if link.kind is LinkKind.NET and (node := system.node(link.source)).kind is NodeKind.NET
    }
