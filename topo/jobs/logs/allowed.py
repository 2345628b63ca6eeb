# SPDX-License-Identifier: Apache-2.0
"""What a machine's topology allows beyond the choices in a log: P2P instead of SHM or the network, GPUDirect RDMA."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.parts import CHOICE_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.connections import LoggedConnection
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.places import Places, on_one_host, places_of
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.paths.peer_access import PeerAccess

MOST_PAIRS = 8
"""Pairs of ranks that a message names."""
OFF = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
"""Settings that turn P2P off."""


def allowed(log: Log, machine: Machine) -> tuple[str, ...]:
    """A sentence for each pair of ranks that could do better; ranks are found on the machine by their bus ids."""
    places = places_of(log, machine)
    if not places:
        return ("no GPU of the log is on that machine: the log has no bus ids, or is from another machine",)
    return tuple(dict.fromkeys((*_peers(log, machine, places), *_gdr(log, machine, places)))) or (
        "nothing better than the logged choice",
    )


def slower_ways(log: Log, machine: Machine) -> Iterator[Finding]:
    """Pairs of one host that go through host memory or a NIC where P2P is possible: a finding for each transport."""
    pairs: dict[str, dict[tuple[int, int], PeerAccess]] = {}
    for one, access in _without_p2p(log, machine, places_of(log, machine)):
        pairs.setdefault(one.transport, {})[one.source, one.target] = access
    for transport, by_pair in sorted(pairs.items()):
        some = ", ".join(f"{source} -> {target}" for source, target in sorted(by_pair)[:MOST_PAIRS])
        more = f" and {len(by_pair) - MOST_PAIRS} more" if len(by_pair) > MOST_PAIRS else ""
        distances = ", ".join(sorted({access.distance for access in by_pair.values()}))
        off = [f"{name}={value}" for name in OFF for value in sorted(log.settings.get(name, {}))]
        why = f"; the log sets {' and '.join(off)}" if off else ""
        message = f"{some}{more}: {transport} was chosen where this machine allows P2P (the path is {distances}){why}"
        evidence = {"pairs": [list(pair) for pair in sorted(by_pair)], "transport": transport}
        yield CHOICE_DIFFERS.finding(Level.WARN, transport, message, evidence=evidence)


def _without_p2p(log: Log, machine: Machine, places: Places) -> Iterator[tuple[LoggedConnection, PeerAccess]]:
    for one in log.connections.kept:
        source, target = (one.comm, one.source), (one.comm, one.target)
        if one.transport == "P2P" or not (source in places and target in places) or places[source] == places[target]:
            continue
        if one.transport != "SHM" and not on_one_host(log, source, target):
            continue
        access = machine.paths.peer_access(places[source], places[target])
        if access.allowed:
            yield one, access


def _peers(log: Log, machine: Machine, places: Places) -> Iterator[str]:
    for one, access in _without_p2p(log, machine, places):
        yield (
            f"{one.source} -> {one.target}: P2P (the path is {access.distance}, up to {access.level.type} is "
            f"allowed); {one.transport} was chosen"
        )


def _gdr(log: Log, machine: Machine, places: Places) -> Iterator[str]:
    for one in log.connections.kept:
        teller = one.comm, one.teller
        if not one.transport.startswith("NET/") or one.gdr or teller not in places:
            continue
        gpu = places[teller]
        sending = one.end != "receive"
        nets = machine.paths.local_nets(machine.system.node(gpu))
        near = [net for net in nets if machine.paths.gpu_direct(gpu, net.id, sending=sending).on]
        if near:
            way = "sending" if sending else "receiving"
            yield f"rank {one.teller}: GPUDirect RDMA when {way} through {near[0].id}; {one.via} was chosen"
