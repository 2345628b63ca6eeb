# SPDX-License-Identifier: Apache-2.0
"""The search of a node's graphs: the ring with the most bandwidth over NCCL's speeds, then a tree on its channels."""

import time
from dataclasses import replace
from itertools import pairwise

from railgauge.topo.channels.capacity import ROUNDING, way_out
from railgauge.topo.channels.graph import BALANCED_TREE, MAX_CHANNELS, RING, TREE, Channel, Graph, Graphs
from railgauge.topo.channels.ring import TYPE_RANK, Found, Taste, pack, slowest
from railgauge.topo.channels.speeds import candidates
from railgauge.topo.errors import UnavailableError
from railgauge.topo.model import NodeKind, System
from railgauge.topo.paths import Paths, paths

DUPLICATE_FROM = 25.0  # GB/s: faster channels are halved and doubled in number (`ncclTopoDupChannels`)
DUPLICATE_ALWAYS_FROM = 50.0  # ... but after sm 80 with more than 4 channels only from this speed on
FEW_CHANNELS = 4
HOST_CHANNELS = (
    2  # measured, benchmarks/README.md: 1.1 times the speed of one channel for 2 ranks, 1.4 times for 8 on 2 cores
)


def search(
    system: System, *, nodes: int = 1, p2p: bool = True, denied: frozenset[tuple[str, str]] = frozenset()
) -> Graphs:
    """The graphs of one of `nodes` equal nodes. `p2p` False: no peer access between GPUs; `denied`: not for those.

    UnavailableError without ranks, a way between them, or a NIC to leave by.
    """
    start = time.perf_counter()
    if not system.ranks:
        raise UnavailableError("there is no GPU to plan for: --ranks N --device cpu plans ranks on host memory")
    if nodes > 1 and not system.nets:
        raise UnavailableError("this machine has no NIC: it cannot be one of several nodes")
    table = paths(system, p2p=p2p, denied=denied)
    ring = _ring(system, table, nodes, start)
    pattern = TREE if len(ring.channels[0].ranks) == 1 else BALANCED_TREE
    return Graphs(ring=ring, tree=replace(ring, pattern=pattern, search_ms=0.0))


def _ring(system: System, table: Paths, nodes: int, start: float) -> Graph:
    found, crossed = _best(system, table, nodes)
    if found is None:
        a, b = _unconnected(system, table)
        raise UnavailableError(f"there is no path from {a} to {b}, so no ring over all ranks")
    found = duplicated(found, least_sm(system))
    return Graph(
        pattern=RING,
        cross_nic=crossed,
        same_channels=int(len({channel.ranks + channel.nets for channel in found.channels}) == 1),
        type_intra=_type_intra(system, table, found.channels, nodes),
        type_inter="PIX" if nodes == 1 else _type_inter(system, table, found.channels),
        latency_inter=0.0 if nodes == 1 else max(net.latency_us or 0.0 for net in system.nets),
        gb_per_s_intra=found.speed,
        gb_per_s_inter=found.speed,
        search_ms=round((time.perf_counter() - start) * 1e3, 3),
        channels=found.channels,
    )


def _best(system: System, table: Paths, nodes: int) -> tuple[Found | None, int]:
    """The packing with the highest total (the faster channels among equals), and 1 when channels cross NICs."""
    nets = system.nets if nodes > 1 else ()
    narrowest = min(way_out(system, rank) for rank in system.ranks) if len(system.ranks) > 1 else float("inf")
    for crossed in (0, 1) if len(nets) > 1 else (0,):
        best = Found(speed=0.0, channels=())
        for speed in candidates(least_sm(system), nodes):
            most = min(MAX_CHANNELS, int((narrowest + ROUNDING) / speed) if narrowest < float("inf") else MAX_CHANNELS)
            for taste in Taste:
                if most * speed <= best.total:
                    break
                found = pack(system, table, speed, nets, same_net=not crossed, taste=taste)
                best = max(best, found, key=lambda one: one.total)
        if best.channels:
            return best, crossed
    return slowest(system, table, nets), 0


def duplicated(found: Found, sm: int | None) -> Found:
    """Twice the channels at half the speed: for GPUs where NCCL does it, so that more of their blocks work.

    Host ranks (`sm` is None) have two at least: a rank steps its channels in turn, and one moves while the other waits.
    """
    count, speed = len(found.channels), found.speed
    if sm is None:
        few = count < HOST_CHANNELS
    elif sm > 80 and count > FEW_CHANNELS:
        few = speed >= DUPLICATE_ALWAYS_FROM and count * 2 <= MAX_CHANNELS
    else:
        few = speed >= DUPLICATE_FROM and count * 2 <= MAX_CHANNELS
    return Found(speed=speed / 2, channels=found.channels * 2) if few else found


def least_sm(system: System) -> int | None:
    """The lowest compute capability among the ranks; None for host ranks."""
    return min((node.sm for node in system.ranks if node.sm is not None), default=None)


def _type_intra(system: System, table: Paths, channels: tuple[Channel, ...], nodes: int) -> str:
    worst = "LOC"
    for channel in channels:
        nodes_of = [system.ranks[rank] for rank in channel.ranks]
        ends = [*nodes_of, nodes_of[0]] if nodes == 1 and len(nodes_of) > 1 else nodes_of
        kinds = (table.get(a.id, b.id).type for a, b in pairwise(ends))
        worst = max((worst, *kinds), key=TYPE_RANK.__getitem__)
    return worst


def _type_inter(system: System, table: Paths, channels: tuple[Channel, ...]) -> str:
    nets = {net.dev: net for net in reversed(system.kind(NodeKind.NET))}
    worst = "LOC"
    for channel in channels:
        entry, leave = nets[channel.nets[0]], nets[channel.nets[-1]]
        first, last = system.ranks[channel.ranks[0]], system.ranks[channel.ranks[-1]]
        kinds = (table.get(entry.id, first.id).type, table.get(last.id, leave.id).type)
        worst = max((worst, *kinds), key=TYPE_RANK.__getitem__)
    return worst


def _unconnected(system: System, table: Paths) -> tuple[str, str]:
    pairs = ((a.id, b.id) for a in system.ranks for b in (*system.ranks, *system.nets))
    return next(((a, b) for a, b in pairs if table.get(a, b).type == "DIS"), (system.ranks[0].id, "a NIC"))
