# SPDX-License-Identifier: Apache-2.0
"""The rings of a log beside those that NCCL's search finds on its machine: their edges, order and number."""

from collections.abc import Iterator

from railgauge.topo.channels.graph import Graph
from railgauge.topo.findings.cards.parts import CHOICE_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.places import places_of
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import PATH_TYPES


def rings(log: Log, machine: Machine, nccl: Graph) -> Iterator[Finding]:
    """Rings of one host that take a farther path than NCCL's, or other ones; sides of rings between hosts are left
    out.
    """
    gpus = {rank: gpu for (_, rank), gpu in places_of(log, machine).items()}
    names = {node.id: f"GPU{node.dev}" for node in machine.system.ranks}
    logged = {
        channel: [gpus[rank] for rank in ranks]
        for channel, ranks in log.rings.items()
        if len(ranks) == len({*ranks} & gpus.keys())
    }
    if not logged or not log.on_one_node or len({*gpus.values()}) != len(gpus):
        return
    found = [[machine.system.ranks[rank].id for rank in channel.ranks] for channel in nccl.channels]
    far = _farther(machine, logged, nccl.type_intra)
    for (one, other), (channel, distance) in far.items():
        message = (
            f"ring {channel} goes from {names[one]} to {names[other]} over {distance}; NCCL's rings on this machine "
            f"take {nccl.type_intra} paths"
        )
        yield CHOICE_DIFFERS.finding(Level.WARN, f"{names[one]} -> {names[other]}", message)
    if not far and (other_ring := _other(logged, found)):
        channel, ring = other_ring
        said, its = (" -> ".join(names[gpu] for gpu in one) for one in (ring, found[0]))
        message = f"ring {channel} of the log ({said}) is not one of NCCL's on this machine, such as {its}"
        yield CHOICE_DIFFERS.finding(Level.INFO, f"ring {channel}", message)


def _farther(machine: Machine, logged: dict[int, list[str]], furthest: str) -> dict[tuple[str, str], tuple[int, str]]:
    """Edges over a farther path than NCCL's rings have: the first channel with each, and the path's type."""
    far: dict[tuple[str, str], tuple[int, str]] = {}
    for channel, ring in sorted(logged.items()):
        for one, other in zip(ring, [*ring[1:], *ring[:1]], strict=True):
            distance = machine.paths.peer_access(one, other).distance if one != other else furthest
            if PATH_TYPES.index(distance) > PATH_TYPES.index(furthest):
                far.setdefault((one, other), (channel, distance))
    return far


def _other(logged: dict[int, list[str]], found: list[list[str]]) -> tuple[int, list[str]] | None:
    """The first ring that NCCL's search has not, turned or not."""
    known = {_turned(ring) for ring in found}
    return next(((channel, ring) for channel, ring in sorted(logged.items()) if _turned(ring) not in known), None)


def _turned(ring: list[str]) -> tuple[str, ...]:
    begin = ring.index(min(ring))
    return (*ring[begin:], *ring[:begin])
