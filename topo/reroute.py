# SPDX-License-Identifier: Apache-2.0
"""NCCL's changes to the plain paths: no P2P -> through the CPU, PXN, no GPUDirect RDMA -> through the CPU, C2C.

NCCL's functions: `ncclTopoComputePaths`, `ncclTopoCheckP2p`, `ncclTopoCheckGdr`, `ncclTopoCheckNet`,
`ncclTopoTrimSystem` (2.30).
"""

from dataclasses import replace

from railgauge.topo.local import Table, local_cpu, local_gpu, nearest
from railgauge.topo.model import Node, NodeKind, System
from railgauge.topo.path_search import C2C, NET, NOWHERE, NVL, P2C, PHB, PXB, PXN, SYS, Route, routes_to

SMALL_AMD_HOST = 2  # GPUs up to which P2P crosses AMD CPUs


def compute(system: System, gpus: tuple[Node, ...], *, p2p: bool = True) -> Table:
    """All routes between nodes by (from, to), with NCCL's changes for the GPUs in `gpus`.

    `p2p`: NVML allows peer access.
    """
    system = _without(system, gpus)
    table = plain(system)
    _avoid_p2p(system, table, p2p)
    _mark_c2c(system, table)
    _reach_nets(system, table)
    return table


def _without(system: System, gpus: tuple[Node, ...]) -> System:
    """The System with no GPU but those; their DEV nodes stay, as in NCCL."""
    gone = {node.id for node in system.gpus} - {gpu.id for gpu in gpus}
    if not gone:
        return system
    nodes = tuple(node for node in system.nodes if node.id not in gone)
    links = tuple(link for link in system.links if link.source not in gone and link.target not in gone)
    ranks = tuple(node for node in system.ranks if node.id not in gone)
    return System(nodes=nodes, links=links, ranks=ranks)


def plain(system: System) -> Table:
    """All routes as the wires are."""
    parents = {gpu.id: system.links_of(gpu.id)[0].target for gpu in system.gpus if system.links_of(gpu.id)}
    table: Table = {}
    for base in system.nodes:
        if base.kind not in (NodeKind.PCI, NodeKind.NIC, NodeKind.MEM):
            table.update({(key, base.id): route for key, route in routes_to(system, base, parents).items()})
    return table


def _via(table: Table, source: str, relay: str, target: str) -> Route:
    """The route over a relay (`addInterStep`); type PHB after C2C counts P2C."""
    first, second = table.get((source, relay), NOWHERE), table.get((relay, target), NOWHERE)
    kinds = {first.kind, second.kind}
    kind = P2C if kinds == {PHB, C2C} else max(kinds)
    return Route(kind, min(first.gb_per_s, second.gb_per_s), first.links + second.links)


def _avoid_p2p(system: System, table: Table, p2p: bool) -> None:
    """Divert what P2P must not carry through the destination's CPU, then mark pairs that the network serves better."""
    level = _p2p_level(system)
    cpus = system.kind(NodeKind.CPU)
    for target in system.gpus:
        cpu = local_cpu(table, target, cpus)
        for source in system.gpus:
            route = table.get((source.id, target.id), NOWHERE)
            allowed = route.kind <= level and (p2p or source.id == target.id)
            if not allowed and cpu is not None and (source.system == target.system or route.kind != NVL):
                table[source.id, target.id] = _via(table, source.id, cpu.id, target.id)
        for source in system.gpus:
            if source.id != target.id and _net_is_better(system, table, source, target, level, p2p):
                table[source.id, target.id] = replace(table[source.id, target.id], kind=NET)


def _p2p_level(system: System) -> int:
    cpu = system.kind(NodeKind.CPU)[0]
    amd = cpu.arch == "x86_64" and cpu.vendor == "AuthenticAMD"
    return SYS if amd and len(system.kind(NodeKind.DEV)) <= SMALL_AMD_HOST else PXB


def _net_is_better(system: System, table: Table, source: Node, target: Node, level: int, p2p: bool) -> bool:
    """Both GPUs reach a NIC at PXB or nearer, faster than each other: neither P2P nor shared memory is used then."""
    route = table.get((source.id, target.id), NOWHERE)
    if p2p and route.kind <= level and _has_relay(system, route):
        return False
    return all(_net_speed(system, table, gpu) > route.gb_per_s for gpu in (source, target))


def _has_relay(system: System, route: Route) -> bool:
    """Whether the path goes through another GPU's DEV (NVB)."""
    return len(route.links) == 4 and system.node(route.links[1].target).kind is NodeKind.DEV


def _net_speed(system: System, table: Table, gpu: Node) -> float:
    routes = (table.get((gpu.id, net.id), NOWHERE) for net in system.nets)
    return max((route.gb_per_s for route in routes if route.kind <= PXB), default=0.0)


def _mark_c2c(system: System, table: Table) -> None:
    """A GPU on C2C reaches the NICs of its CPU at P2C, if those are its nearest."""
    cpus = system.kind(NodeKind.CPU)
    for gpu in system.gpus:
        cpu = local_cpu(table, gpu, cpus)
        if cpu is None:
            continue
        for net in nearest(table, gpu, system.nets):
            kinds = {table.get((end.id, cpu.id), NOWHERE).kind for end in (gpu, net)}
            if kinds == {PHB, C2C}:
                for pair in ((gpu.id, net.id), (net.id, gpu.id)):
                    table[pair] = replace(table[pair], kind=min(P2C, table[pair].kind))


def _reach_nets(system: System, table: Table) -> None:
    for net in system.nets:
        for gpu in system.gpus:
            relay = local_gpu(system, table, net)
            if relay is not None and relay.id != gpu.id and _pxn_helps(system, table, gpu, relay, net):
                route = _via(table, gpu.id, relay.id, net.id)
                table[gpu.id, net.id] = replace(route, kind=PXN)
            route = table.get((gpu.id, net.id), NOWHERE)
            if route.kind < PHB and not gdr_works(system, table, gpu, net, read=False):
                cpu = local_cpu(table, gpu, system.kind(NodeKind.CPU))
                if cpu is not None:
                    table[net.id, gpu.id] = _via(table, net.id, cpu.id, gpu.id)
                    table[gpu.id, net.id] = _via(table, gpu.id, cpu.id, net.id)


def _pxn_helps(system: System, table: Table, gpu: Node, relay: Node, net: Node) -> bool:
    theirs, ours = table.get((relay.id, net.id), NOWHERE), table.get((gpu.id, net.id), NOWHERE)
    return (
        theirs.kind <= P2C
        and gdr_works(system, table, relay, net, read=True)
        and table.get((relay.id, gpu.id), NOWHERE).kind <= NVL
        and relay.system == gpu.system
        and (theirs.gb_per_s > ours.gb_per_s or ours.kind > PXN)
    )


def gdr_works(system: System, table: Table, gpu: Node, net: Node, *, read: bool) -> bool:
    """Whether GPUDirect RDMA is used between a GPU and a NIC.

    `read`: for sending, which old GPUs do only with NVLink.
    """
    if not net.gdr or not gpu.gdr:
        return False
    if read and (gpu.sm or 0) < 80 and len(system.gpus) > 1:
        others = (table.get((gpu.id, o.id), NOWHERE) for o in system.gpus if o.id != gpu.id)
        if not any(route.kind == NVL for route in others):
            return False
    route = table.get((gpu.id, net.id), NOWHERE)
    if route.kind == PXN:
        relay = local_gpu(system, table, net)
        route = table.get((relay.id, net.id), NOWHERE) if relay else route
    return route.kind <= P2C


def kept_gpus(system: System, table: Table) -> tuple[Node, ...]:
    """The GPUs of rank 0's part when the network cuts a node in pieces (`ncclTopoTrimSystem`).

    All of them otherwise.
    """
    gpus = system.gpus
    domains = list(range(len(gpus)))
    for g, gpu in enumerate(gpus):
        for p in range(g):
            if table.get((gpu.id, gpus[p].id), NOWHERE).kind < NET:
                domains[g] = min(domains[g], domains[p])
    first = next((d for d, gpu in zip(domains, gpus, strict=True) if gpu.rank == 0), 0)
    return tuple(gpu for d, gpu in zip(domains, gpus, strict=True) if d == first)
