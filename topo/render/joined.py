# SPDX-License-Identifier: Apache-2.0
"""A joined plan (railgauge/plan/1): what runs, the nodes, how each channel goes through equal nodes, and the trees."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.joined import Joined
from railgauge.topo.channels.joined_ring import JoinedRing
from railgauge.topo.channels.joined_tree import JoinedTree
from railgauge.topo.channels.trees import double_tree
from railgauge.topo.render.graph import numbered_otherwise
from railgauge.topo.values.spans import spans

Way = tuple[tuple[int, ...], tuple[int, ...]]  # a node's own ranks in ring order, and the NICs [in, out] of it
MOST_NODES_DRAWN = 32


def joined_lines(joined: Joined) -> list[str]:
    """The whole plan."""
    return [*_head(joined), *_nodes(joined), *_rings(joined), *_trees(joined)]


def _head(joined: Joined) -> Iterator[str]:
    channels, nodes = len(joined.rings), len(joined.members)
    yield f"{_counted(nodes, 'node')}, {_counted(joined.size, 'rank')}: {_counted(channels, 'channel')} x " + (
        f"{joined.gb_per_s / channels:g} GB/s = {joined.gb_per_s:g} GB/s, "
        f"type {joined.ring.type_intra}" + (f"/{joined.ring.type_inter}" if nodes > 1 else "")
    )
    if slow := joined.slowest:
        yield f"  runs at {joined.real_gb_per_s:.4g} GB/s: {slow.name}: {slow.graphs.ring.slow}"
    yield from _shared_nics(joined)
    yield f"{_counted(len(joined.executed), 'channel')} run{'s' * (len(joined.executed) == 1)}: {_how_often(joined)}"


def _shared_nics(joined: Joined) -> Iterator[str]:
    """The NICs that rings share, equal ones of several nodes once."""
    groups: dict[tuple[int, bool, int, float], list[int]] = {}
    for nic in joined.shared_nics:
        groups.setdefault((nic.dev, nic.leaves, nic.rings, nic.share), []).append(nic.node)
    for (dev, leaves, rings, share), nodes in groups.items():
        way = "leave" if leaves else "enter"
        waits = ": they wait for it" if share > 1 else ""
        yield f"  {spans('node', nodes)}: {rings} rings {way} through NIC {dev}, {share:.0%} of its bandwidth{waits}"


def _how_often(joined: Joined) -> str:
    times, rest = divmod(len(joined.executed), len(joined.rings))
    if times == 0:
        return f"{spans('channel', range(rest))} only, because of NCCL_MAX_NCHANNELS"
    more = f", {spans('channel', range(rest))} once more" if rest else ""
    often = "once" if times == 1 else f"{times} times"
    return f"each channel {often}, its ring with the first and the second tree in turn{more}"


def _nodes(joined: Joined) -> Iterator[str]:
    names = [member.name for member in joined.members]
    for name in dict.fromkeys(names):
        same = [place for place, other in enumerate(names) if other == name]
        size = joined.members[same[0]].size
        yield f"{spans('node', same)}: {name}, {_counted(size, 'rank')}" + (" each" if len(same) > 1 else "")
        yield from (f"  {line}" for line in numbered_otherwise(joined.members[same[0]].system))


def _rings(joined: Joined) -> Iterator[str]:
    yield _rails("rings", [edge for ring in joined.rings for edge in ring.edges])
    groups: dict[tuple[tuple[Way, tuple[int, ...]], ...], list[int]] = {}
    for number, ring in enumerate(joined.rings):
        groups.setdefault(_grouped(_ways(joined, ring)), []).append(number)
    for ways, channels in groups.items():
        yield f"  {spans('channel', channels)}"
        for (ranks, nets), places in ways:
            through = f"  NIC {nets[0]} in, {nets[1]} out" if nets else ""
            yield f"    {spans('node', places)}: {' '.join(map(str, ranks))}{through}"


def _rails(what: str, edges: list[Edge]) -> str:
    """The number of steps over the network, and of those from one rail to another."""
    across = [edge for edge in edges if edge.nets is not None]
    off = sum(edge.leaves_rail for edge in across)
    if not across:
        return f"{what}:"
    kept = f"{off} of them from one rail to another" if off else "each on its rail"
    return f"{what}: {_counted(len(across), 'step')} between nodes, {kept}"


def _ways(joined: Joined, ring: JoinedRing) -> Iterator[Way]:
    """Each node's part of a ring."""
    into = {edge.target: edge.nets[1] for edge in ring.edges if edge.nets}
    out = {edge.source: edge.nets[0] for edge in ring.edges if edge.nets}
    for member in joined.members:
        ranks = ring.ranks[member.first_rank : member.first_rank + member.size]
        nets = (into[ranks[0]], out[ranks[-1]]) if len(joined.members) > 1 else ()
        yield tuple(rank - member.first_rank for rank in ranks), nets


def _grouped(ways: Iterable[Way]) -> tuple[tuple[Way, tuple[int, ...]], ...]:
    places: dict[Way, list[int]] = {}
    for place, way in enumerate(ways):
        places.setdefault(way, []).append(place)
    return tuple((way, tuple(numbers)) for way, numbers in places.items())


def _trees(joined: Joined) -> Iterator[str]:
    yield _rails("trees", [edge for tree in joined.trees for edge in tree.edges])
    channels = len(joined.rings)
    for which, name in enumerate(("first", "second")[: len(joined.members)]):
        if 1 < len(joined.members) <= MOST_NODES_DRAWN:
            yield f"  {name} tree: {_over_nodes(len(joined.members), which)}"
        trees = joined.trees[which * channels : (which + 1) * channels]
        roots = [tree.root for tree in trees]
        by_channel = f"roots {' '.join(map(str, roots))} by channel" if len(set(roots)) > 1 else f"root {roots[0]}"
        yield f"  {name} tree: {by_channel}, {max(map(_deepest, trees))} steps deep"


def _over_nodes(nodes: int, which: int) -> str:
    """The tree over the nodes, each inner node with those below it."""
    places = [double_tree(nodes, node)[which] for node in range(nodes)]
    below = {
        node: [child for child in (place.lower, place.higher) if child is not None] for node, place in enumerate(places)
    }
    return "; ".join(
        f"node {node} over {' and '.join(map(str, children))}" for node, children in below.items() if children
    )


def _deepest(tree: JoinedTree) -> int:
    """Steps from the root to the rank that is furthest from it."""
    level, depth = list(tree.children[tree.root]), 0
    while level:
        level, depth = [child for rank in level for child in tree.children[rank]], depth + 1
    return depth


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def joined_document(joined: Joined) -> dict[str, Any]:
    """What the document holds beside its head."""
    channels = len(joined.rings)
    return {
        "nodes": [
            {"source": member.name, "first_rank": member.first_rank, "ranks": member.size} for member in joined.members
        ],
        "gb_per_s": joined.gb_per_s,
        "real_gb_per_s": round(joined.real_gb_per_s, 4),
        "ring": asdict(joined.ring),
        "tree": asdict(joined.tree),
        "rings": [{"ranks": list(ring.ranks), "network": _network(ring.edges)} for ring in joined.rings],
        "trees": [{"parents": list(tree.parents), "network": _network(tree.edges)} for tree in joined.trees],
        "executed": [{"ring": number % channels, "tree": number} for number in joined.executed],
    }


def _network(edges: tuple[Edge, ...]) -> list[dict[str, Any]]:
    """The steps between nodes."""
    return [
        {"from": edge.source, "to": edge.target, "nets": list(edge.nets), "leaves_rail": edge.leaves_rail}
        for edge in edges
        if edge.nets is not None
    ]
