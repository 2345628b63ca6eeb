# SPDX-License-Identifier: Apache-2.0
"""What a machine's topology allows beyond the choices in a log: P2P instead of SHM, GPUDirect RDMA."""

from collections.abc import Iterator

from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import NodeKind


def allowed(log: Log, machine: Machine) -> tuple[str, ...]:
    """A sentence for each pair of ranks that could do better; ranks are found on the machine by their bus ids."""
    gpus = {node.id.rpartition("-")[2]: node.id for node in machine.system.nodes if node.kind is NodeKind.GPU}
    places = {key: gpus[rank.bus_id] for key, rank in log.ranks.items() if rank.bus_id in gpus}
    comms = {comm for comm, _ in places}
    if len(comms) == 1:  # a connection without its communicator belongs to the only one
        places |= {("", rank): gpu for (_, rank), gpu in places.items()}
    if not places:
        return ("no GPU of the log is on that machine: the log has no bus ids, or is from another machine",)
    return tuple(dict.fromkeys((*_peers(log, machine, places), *_gdr(log, machine, places)))) or (
        "nothing better than the logged choice",
    )


def _peers(log: Log, machine: Machine, places: dict[tuple[str, int], str]) -> Iterator[str]:
    for one in log.connections.kept:
        ends = (one.comm, one.source), (one.comm, one.target)
        if one.transport != "SHM" or not all(end in places for end in ends):
            continue
        access = machine.paths.peer_access(*(places[end] for end in ends))
        if access.allowed:
            yield (
                f"{one.source} -> {one.target}: P2P (the path is {access.distance}, up to {access.level.type} is "
                "allowed); SHM was chosen"
            )


def _gdr(log: Log, machine: Machine, places: dict[tuple[str, int], str]) -> Iterator[str]:
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
