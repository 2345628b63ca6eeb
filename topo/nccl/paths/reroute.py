# SPDX-License-Identifier: Apache-2.0
"""NCCL's changes to the plain paths: no P2P -> through the CPU, PXN, no GPUDirect RDMA -> through the CPU, C2C.

NCCL's functions: `ncclTopoComputePaths`, `ncclTopoCheckNet`, `ncclTopoTrimSystem` (2.30).
"""

from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.paths.gpudirect import gpu_direct
from railgauge.topo.nccl.paths.local import local_cpu, local_gpu
from railgauge.topo.nccl.paths.path_search import C2C, NET, NVL, P2C, PHB, PXB, PXN
from railgauge.topo.nccl.paths.peer_access import PeerRules, peer_rules, relay_of
from railgauge.topo.nccl.paths.route_table import RouteTable
from railgauge.topo.nccl.settings.levels import Levels


def compute(system: System, levels: Levels, denied: frozenset[tuple[str, str]]) -> tuple[RouteTable, PeerRules]:
    """All routes with NCCL's changes, and the rules of P2P. `denied`: pairs without peer access by NVML."""
    table = RouteTable(system, nvb=levels.nvb)
    rules = peer_rules(table, levels, denied)
    net_speeds = {gpu.id: _net_speed(table, gpu) if levels.net_within_node else 0.0 for gpu in table.gpus}
    for target in table.gpus:
        _avoid_p2p(table, target, rules)
        _prefer_net(table, target, rules, net_speeds)
    _mark_c2c(table)
    for net in table.nets:
        for gpu in table.gpus:
            _relay(table, gpu, net, levels)
            _avoid_gdr(table, gpu, net, levels)
    return table, rules


def without(system: System, kept: tuple[Node, ...]) -> System:
    """The System with only those GPUs; all DEV nodes stay, as in NCCL."""
    gone = {node.id for node in system.gpus} - {gpu.id for gpu in kept}
    nodes = tuple(node for node in system.nodes if node.id not in gone)
    links = tuple(link for link in system.links if link.source not in gone and link.target not in gone)
    ranks = tuple(node for node in system.ranks if node.id not in gone)
    return System(nodes=nodes, links=links, ranks=ranks, net_order=system.net_order)


def _avoid_p2p(table: RouteTable, target: Node, rules: PeerRules) -> None:
    """Send pairs without P2P through the target's CPU."""
    cpu = local_cpu(table, target)
    for source in table.gpus:
        if cpu is not None and not rules.access(table, source, target).allowed:
            table.detour(source, cpu, target)


def _prefer_net(table: RouteTable, target: Node, rules: PeerRules, net_speeds: dict[str, float]) -> None:
    """Mark the pairs that use the network: those on two hosts, and those for which the network is faster than the path.

    It has to be faster for both GPUs (`ncclTopoCheckNet`).
    """
    for source in table.gpus:
        if source is target:
            continue
        route = table.route(source, target)
        allowed = rules.access(table, source, target).allowed
        relayed = allowed and relay_of(route) is not None
        apart = source.system != target.system and not allowed
        slowest = min(net_speeds[source.id], net_speeds[target.id])
        if apart or (not relayed and slowest > route.gb_per_s):
            table.change(source, target, route._replace(kind=NET))


def _net_speed(table: RouteTable, gpu: Node) -> float:
    """How fast a GPU reaches a NIC at PXB or nearer; 0 if there is none."""
    routes = (table.route(gpu, net) for net in table.nets)
    return max((route.gb_per_s for route in routes if route.kind <= PXB), default=0.0)


def _mark_c2c(table: RouteTable) -> None:
    """A GPU on C2C reaches the NICs of its CPU at P2C, if those are nearest."""
    for gpu in table.gpus:
        cpu = local_cpu(table, gpu)
        if cpu is None:
            continue
        for net in table.nearest(gpu, NodeKind.NET):
            if {table.route(gpu, cpu).kind, table.route(net, cpu).kind} == {PHB, C2C}:
                for one, other in ((gpu, net), (net, gpu)):
                    route = table.route(one, other)
                    table.change(one, other, route._replace(kind=min(P2C, route.kind)))


def _relay(table: RouteTable, gpu: Node, net: Node, levels: Levels) -> None:
    """Reach a NIC over its local GPU if that helps (PXN)."""
    relay = local_gpu(table, net, levels.nets_per_gpu) if levels.pxn else None
    if relay is not None and relay is not gpu and _pxn_helps(table, gpu, relay, net, levels):
        table.change(gpu, net, table.over(gpu, relay, net)._replace(kind=PXN))
        table.relays[gpu.id, net.id] = relay


def _pxn_helps(table: RouteTable, gpu: Node, relay: Node, net: Node, levels: Levels) -> bool:
    theirs, ours = table.route(relay, net), table.route(gpu, net)
    return (
        theirs.kind <= (P2C if levels.pxn_c2c else PXB)
        and table.route(relay, gpu).kind <= NVL
        and relay.system == gpu.system
        and (theirs.gb_per_s > ours.gb_per_s or ours.kind > PXN)
        and gpu_direct(table, relay, net, levels, sending=True).on
    )


def _avoid_gdr(table: RouteTable, gpu: Node, net: Node, levels: Levels) -> None:
    """Without GPUDirect RDMA, traffic with a near NIC goes through the GPU's CPU."""
    if table.route(gpu, net).kind < PHB and not gpu_direct(table, gpu, net, levels, sending=False).on:
        cpu = local_cpu(table, gpu)
        if cpu is not None:
            table.detour(net, cpu, gpu)
            table.detour(gpu, cpu, net)


def kept_gpus(table: RouteTable) -> tuple[Node, ...]:
    """The GPUs of rank 0's part if NCCL splits the node because the network is faster (`ncclTopoTrimSystem`).

    Otherwise all of them.
    """
    gpus = table.gpus
    domains = list(range(len(gpus)))
    for g, gpu in enumerate(gpus):
        for p in range(g):
            if table.route(gpu, gpus[p]).kind < NET:
                domains[g] = min(domains[g], domains[p])
    first = next((d for d, gpu in zip(domains, gpus, strict=True) if gpu.rank == 0), 0)
    return tuple(gpu for d, gpu in zip(domains, gpus, strict=True) if d == first)
