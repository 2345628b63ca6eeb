# SPDX-License-Identifier: Apache-2.0
"""The load of each link by the channels of a graph, and the steps without a path.

A ring goes around, or from its NIC in to its NIC out; a tree runs down its chain, and incoming data leaves again from
the first rank (tree), the second (split tree) or half from each (balanced tree): `ncclTopoSearchRecGpu` of NCCL's
src/graph/search.cc.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import BALANCED_TREE, RING, SPLIT_TREE, TREE, Channel, Graph
from railgauge.topo.channels.group import RankGroup
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.paths.overhead import taken
from railgauge.topo.nccl.paths.paths import Paths

MOST_NAMED = 3
ROUNDING = 1e-3  # GB/s a channel: NCCL's search rounds to thousandths (SUB_ROUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoad:
    """A link and its load by channels, in GB/s."""

    link: Link
    gb_per_s: float

    @property
    def share(self) -> float:
        """The load as a share of the bandwidth; 1 is full."""
        return self.gb_per_s / self.link.gb_per_s if self.link.gb_per_s else float("inf")

    @property
    def real_share(self) -> float:
        """The load as a share of what the link runs at."""
        return self.gb_per_s / self.link.real_gb_per_s if self.link.real_gb_per_s else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step from one end to another with its GB/s."""

    source: Node
    target: Node
    gb_per_s: float


def loads(group: RankGroup, graph: Graph) -> tuple[LinkLoad, ...]:
    """The loads of links by the channels of a graph, fullest first."""
    every = (step for channel in graph.channels for step in steps(group, graph, channel))
    return carried(group.system, group.table, every)


def users(group: RankGroup, graph: Graph) -> dict[tuple[str, str], list[int]]:
    """The channels that use each link, by number, by the ids of its ends."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, channel in enumerate(graph.channels):
        for load in carried(group.system, group.table, steps(group, graph, channel)):
            found.setdefault((load.link.source, load.link.target), []).append(number)
    return found


def overloaded(group: RankGroup, graph: Graph) -> tuple[LinkLoad, ...]:
    """The links that the channels of a graph overload, fullest first."""
    slack = ROUNDING * len(graph.channels)
    return tuple(load for load in loads(group, graph) if load.gb_per_s > load.link.gb_per_s + slack)


def alike(loads: Iterable[LinkLoad]) -> list[list[LinkLoad]]:
    """The loads grouped by kind of link, load and capacity: links that differ in their ends only are together."""
    groups: dict[tuple[LinkKind, float, float, float], list[LinkLoad]] = {}
    for load in loads:
        speeds = (load.gb_per_s, load.link.gb_per_s, load.link.real_gb_per_s)
        one, two, three = (round(speed, 3) for speed in speeds)
        key = load.link.kind, one, two, three
        groups.setdefault(key, []).append(load)
    return list(groups.values())


def carried(system: System, table: Paths, steps: Iterable[Step]) -> tuple[LinkLoad, ...]:
    """The loads of links by steps, fullest first; a step without a path loads nothing."""
    total: dict[Link, float] = {}
    for step in steps:
        path = table.get(step.source.id, step.target.id)
        for link, share in taken(system, step.source, path).items():
            total[link] = total.get(link, 0.0) + share * step.gb_per_s
    total |= _on_ports(system, total)
    found = [LinkLoad(link=link, gb_per_s=total[link]) for link in system.links if total.get(link, 0.0) > 0]
    return tuple(sorted(found, key=lambda load: -load.share))


def _on_ports(system: System, total: dict[Link, float]) -> dict[Link, float]:
    """The bandwidth of NICs; NICs on one port share it (`ncclTopoSearchRecNet`)."""
    ports: dict[tuple[int | None, int | None, bool], list[Link]] = {}
    for link in system.links:
        if link.kind is LinkKind.NET:
            source, target = system.node(link.source), system.node(link.target)
            net = source if source.kind is NodeKind.NET else target
            ports.setdefault((net.asic, net.port, net is source), []).append(link)
    return {link: sum(total.get(one, 0.0) for one in links) for links in ports.values() for link in links}


def is_open(group: RankGroup, step: Step) -> bool:
    """Whether a step has no path."""
    return group.table.get(step.source.id, step.target.id).type == "DIS"


def steps(group: RankGroup, graph: Graph, channel: Channel) -> Iterator[Step]:
    """The steps of a channel between ranks, and from and to NICs if channels leave the group and it has NICs."""
    ranks = [group.system.ranks[rank] for rank in channel.ranks]
    for a, b in pairwise(ranks):
        yield Step(source=a, target=b, gb_per_s=graph.gb_per_s_intra)
    if not group.leaves and graph.pattern == RING and len(ranks) > 1:
        yield Step(source=ranks[-1], target=ranks[0], gb_per_s=graph.gb_per_s_intra)
    if group.leaves and channel.nets:
        nets = {dev_number(net): net for net in reversed(group.system.nets)}
        into, out = nets[channel.nets[0]], nets[channel.nets[-1]]
        yield Step(source=into, target=ranks[0], gb_per_s=graph.gb_per_s_inter)
        for rank, share in _leaving(graph.pattern, ranks):
            yield Step(source=rank, target=out, gb_per_s=graph.gb_per_s_inter * share)


def _leaving(pattern: int, ranks: list[Node]) -> list[tuple[Node, float]]:
    """The ranks from which a channel leaves the node, and the share of each."""
    if len(ranks) == 1 or pattern == TREE:
        return [(ranks[0], 1.0)]
    if pattern == BALANCED_TREE:
        return [(ranks[0], 0.5), (ranks[1], 0.5)]
    return [(ranks[1] if pattern == SPLIT_TREE else ranks[-1], 1.0)]


def ends_of(group: Sequence[LinkLoad]) -> str:
    """The kind of equal links, the first few of them, and the number of the rest."""
    names = ", ".join(f"{load.link.source} -> {load.link.target}" for load in group[:MOST_NAMED])
    more = f", and {len(group) - MOST_NAMED} more" if len(group) > MOST_NAMED else ""
    return f"{group[0].link.kind} {names}{more}"
