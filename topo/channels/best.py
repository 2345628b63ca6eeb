# SPDX-License-Identifier: Apache-2.0
"""The best channels found (topo/native/best_channels.h), as graphs: never less than NCCL's own.

If nothing carries more than NCCL's channels, they are the answer: every difference from NCCL is a gain. Ring and tree
come in pairs with as many channels each, since NCCL runs the smaller number; the prediction chooses a pair
(topo/predict/search.py).
"""

import time
from dataclasses import dataclass, replace
from itertools import pairwise

from railgauge import _native
from railgauge.topo.channels.bounds import bound_of
from railgauge.topo.channels.channel_count import CLOSE, EQUAL, choose, limits_of, most_carrying, shared_counts, total
from railgauge.topo.channels.connection import unconnected
from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.difference import difference
from railgauge.topo.channels.graph import BALANCED_TREE, RING, TREE, Channel, Graph, Graphs
from railgauge.topo.channels.nccl import DIGITS, nccl_graphs
from railgauge.topo.channels.tree_throughput import passes
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.nccl.graph.model import PATH_TYPES, NodeKind

FREELY, IN_PAIRS = 1, 2  # crossNic of a graph whose channels leave by other NICs than they enter by
Row = tuple[list[int], int, int]  # a channel of the native searches: GPUs in order, NIC in, NIC out, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates: NCCL's graph (`theirs`: its GB/s, 0 if links cannot carry it), and the best one.

    `load`: the highest load of a link by NCCL's channels, as a share of its capacity.
    """

    nccl: Graph
    load: float
    theirs: float
    found: _native.topo.BestChannels
    search_ms: float


def best_graphs(wiring: Wiring, listed: Wiring, nodes: int, cross_nic: int) -> tuple[Graphs, ...]:
    """Rings and trees of one of `nodes` equal nodes, the most bandwidth first, NCCL's own last.

    `listed` has each NIC as often as NCCL counts it; `cross_nic` is NCCL_CROSS_NIC. One alone for ranks on host memory.

    UnavailableError if no channel can visit all ranks.
    """
    if wiring.ranks[0].kind is NodeKind.HOST:
        return (_host_graphs(wiring, cross_nic),)
    nccl = nccl_graphs(listed, cross_nic)
    if len(wiring.ranks) == 1:
        return (nccl,)
    limits = limits_of(wiring)
    ring = _candidates(wiring, nccl.ring, nodes, cross_nic, wanted=set())
    tree = _candidates(wiring, nccl.tree, nodes, cross_nic, wanted=most_carrying(ring.found.by_count, limits))
    pairs = [
        Graphs(ring=one, tree=other)
        for one in _with_theirs(wiring, ring, _ring(wiring, ring, tree, nodes, cross_nic))
        for other in _with_theirs(wiring, tree, _tree(wiring, tree, nodes, cross_nic, len(one.channels)))
    ]
    return (*(pair for pair in pairs[:-1] if len(pair.ring.channels) == len(pair.tree.channels)), pairs[-1])


def _with_theirs(wiring: Wiring, among: Candidates, best: Graph) -> list[Graph]:
    """The best graph, and NCCL's if that is another."""
    return [best, _theirs(wiring, among)] if best.difference else [best]


def _host_graphs(wiring: Wiring, cross_nic: int) -> Graphs:
    """Ring and tree of ranks on host memory, which NCCL does not know."""
    if len(wiring.ranks) == 1 and not wiring.leaves:
        return _alone(wiring)
    limits = limits_of(wiring)
    start = time.perf_counter()
    ring = _search(wiring, RING, cross_nic, set(), [])
    ring_ms, start = _since(start), time.perf_counter()
    pattern = TREE if len(wiring.ranks) == 1 else BALANCED_TREE
    tree = _search(wiring, pattern, cross_nic, most_carrying(ring.by_count, limits), [])
    count = choose(ring.by_count, shared_counts(ring.by_count, tree.by_count, limits))
    if not count:
        raise unconnected(wiring)
    return Graphs(
        ring=_graph(wiring, RING, ring, count, cross_nic, ring_ms),
        tree=_graph(wiring, pattern, tree, count, cross_nic, _since(start)),
    )


def _alone(wiring: Wiring) -> Graphs:
    """One host rank alone: the copy speed of its cores."""
    limits = limits_of(wiring)
    ring = Graph(
        pattern=RING,
        cross_nic=0,
        same_channels=1,
        type_intra="LOC",
        type_inter="PIX",
        latency_inter=0.0,
        gb_per_s_intra=limits.top_gb_per_s,
        gb_per_s_inter=limits.top_gb_per_s,
        search_ms=0.0,
        channels=(Channel(ranks=(0,)),) * limits.most_channels,
    )
    return Graphs(ring=ring, tree=replace(ring, pattern=TREE))


def _candidates(wiring: Wiring, nccl: Graph, nodes: int, cross_nic: int, wanted: set[int]) -> Candidates:
    start = time.perf_counter()
    rows = _rows(wiring, nccl)
    load = _native.topo.channel_load(wiring.native, nccl.pattern, rows, nccl.gb_per_s_intra, nccl.gb_per_s_inter)
    found = _search(wiring, nccl.pattern, cross_nic, wanted, [rows])
    if not found.by_count:
        raise unconnected(wiring)
    theirs = nccl.total(nodes) if load <= 1 + EQUAL else 0.0
    ms = round(nccl.search_ms + _since(start), 3)
    return Candidates(nccl=nccl, load=load, theirs=theirs, found=found, search_ms=ms)


def _ring(wiring: Wiring, ring: Candidates, tree: Candidates, nodes: int, cross_nic: int) -> Graph:
    """NCCL's ring unless another carries more, or leaves the tree a number of channels at which it does."""
    counts = shared_counts(ring.found.by_count, tree.found.by_count, limits_of(wiring))
    best = _best(wiring, ring, choose(ring.found.by_count, counts, like=len(ring.nccl.channels)), cross_nic)
    with_theirs, with_ours = (total(tree.found.by_count, len(graph.channels)) for graph in (ring.nccl, best))
    gain, no_loss = best.total(nodes) > ring.theirs * (1 + EQUAL), best.total(nodes) >= ring.theirs
    if gain or (no_loss and with_ours > with_theirs * (1 + CLOSE)):
        return best
    return _theirs(wiring, ring)


def _tree(wiring: Wiring, tree: Candidates, nodes: int, cross_nic: int, count: int) -> Graph:
    """The tree with the ring's channels, unless it carries less than NCCL's, or as much with as many channels."""
    if count not in tree.found.by_count:
        return _theirs(wiring, tree)
    best = _best(wiring, tree, count, cross_nic)
    gain, no_loss = best.total(nodes) > tree.theirs * (1 + EQUAL), best.total(nodes) >= tree.theirs
    better = gain or (no_loss and count != len(tree.nccl.channels))
    worse = passes(wiring, best, nodes) < passes(wiring, tree.nccl, nodes) * (1 - EQUAL)
    return best if better and not worse else _theirs(wiring, tree)


def _best(wiring: Wiring, among: Candidates, count: int, cross_nic: int) -> Graph:
    best = _graph(wiring, among.nccl.pattern, among.found, count, cross_nic, among.search_ms)
    return replace(best, difference=difference(wiring, among.nccl, best, among.load))


def _theirs(wiring: Wiring, among: Candidates) -> Graph:
    return replace(among.nccl, bound=bound_of(wiring, among.found), search_ms=among.search_ms)


def _search(
    wiring: Wiring, pattern: int, cross_nic: int, wanted: set[int], others: list[list[Row]]
) -> _native.topo.BestChannels:
    limits = limits_of(wiring)
    return _native.topo.best_channels(
        wiring=wiring.native,
        pattern=pattern,
        most_channels=limits.most_channels,
        top_gb_per_s=limits.top_gb_per_s,
        cross_nic=cross_nic,
        wanted=wanted,
        others=others,
    )


def _since(start: float) -> float:
    return round((time.perf_counter() - start) * 1e3, 3)


def _rows(wiring: Wiring, graph: Graph) -> list[Row]:
    rank = {node.rank or 0: number for number, node in enumerate(wiring.ranks)}
    net = {dev_number(node): number for number, node in reversed([*enumerate(wiring.nets)])}
    ends = [[net[dev] for dev in channel.nets] if channel.nets else [-1, -1] for channel in graph.channels]
    return [([rank[r] for r in c.ranks], nets[0], nets[-1]) for c, nets in zip(graph.channels, ends, strict=True)]


def _graph(
    wiring: Wiring, pattern: int, found: _native.topo.BestChannels, count: int, cross_nic: int, search_ms: float
) -> Graph:
    packed = found.by_count[count]
    rows = packed.channels
    speed = round(packed.gb_per_s, DIGITS + 2)
    tree_inside = pattern != RING and wiring.leaves
    return Graph(
        pattern=pattern,
        cross_nic=_crossing(pattern, cross_nic) if found.crossed else 0,
        same_channels=int(all(row[0] == rows[0][0] for row in rows)),
        type_intra=_worst([_type_inside(wiring, pattern, row) for row in rows]),
        type_inter=_worst([_type_outside(wiring, pattern, row) for row in rows]) if wiring.leaves else "PIX",
        latency_inter=max((wiring.nets[row[1]].latency_us or 0.0 for row in rows if row[1] >= 0), default=0.0),
        gb_per_s_intra=_speed_inside(wiring, pattern, rows, speed) if tree_inside else speed,
        gb_per_s_inter=speed,
        search_ms=search_ms,
        channels=tuple(_channel(wiring, row) for row in rows),
        bound=bound_of(wiring, found),
    )


def _crossing(pattern: int, cross_nic: int) -> int:
    return IN_PAIRS if pattern == RING and cross_nic == IN_PAIRS else FREELY


def _speed_inside(wiring: Wiring, pattern: int, rows: list[Row], outside: float) -> float:
    """The speed of a tree's steps within the node, which NCCL raises above that of the NICs (`bwIntra`)."""
    most = min(_native.topo.speed_inside(wiring.native, pattern, rows, outside), limits_of(wiring).top_gb_per_s)
    most = min(most, 2 * outside)  # NCCL's upper limit, and its figure to choose between ring and tree
    return max(outside, int(most * 1000) / 1000)


def _channel(wiring: Wiring, row: Row) -> Channel:
    gpus, *ends = row
    nets = tuple(dev_number(wiring.nets[net]) for net in ends) if wiring.leaves else ()
    return Channel(ranks=tuple(wiring.ranks[gpu].rank or 0 for gpu in gpus), nets=nets)


def _type_inside(wiring: Wiring, pattern: int, row: Row) -> int:
    closed = [row[0][0]] if pattern == RING and not wiring.leaves else []
    return max((wiring.step(a, b)[0] for a, b in pairwise([*row[0], *closed])), default=0)


def _type_outside(wiring: Wiring, pattern: int, row: Row) -> int:
    gpus, entry, leave = row
    net_in, net_out = len(wiring.ranks) + entry, len(wiring.ranks) + leave
    senders = {RING: gpus[-1:], BALANCED_TREE: gpus[:2]}.get(pattern, gpus[:1])
    return max(wiring.step(net_in, gpus[0])[0], *(wiring.step(gpu, net_out)[0] for gpu in senders))


def _worst(kinds: list[int]) -> str:
    return PATH_TYPES[max(kinds)]
