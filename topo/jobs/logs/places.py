# SPDX-License-Identifier: Apache-2.0
"""Where on a machine the ranks of its log are: by bus id, which NCCL logs beside the rank or, in 2.5 to 2.11, in the
brackets of a connection; without one by the number of the device, where the log has as many as the machine.
"""

from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import NodeKind

Places = dict[tuple[str, int], str]
"""The GPU's id, by communicator and rank; of a connection whose communicator is unknown by ""."""

MOST_DIGITS = 3
"""Of a device's number; a bus id has more."""


def places_of(log: Log, machine: Machine) -> Places:
    """The GPUs of the log's ranks, as far as it tells."""
    gpus = {node.id.rpartition("-")[2]: node.id for node in machine.system.nodes if node.kind is NodeKind.GPU}
    places = {key: gpus[rank.bus_id] for key, rank in log.ranks.items() if rank.bus_id in gpus}
    comms = {comm for comm, _ in places}
    if len(comms) == 1:  # a connection without its communicator belongs to the only one
        places |= {("", rank): gpu for (_, rank), gpu in places.items()}
    brackets = log.connections.brackets
    for key, bracket in brackets.items():
        if bracket in gpus and len(bracket) > MOST_DIGITS:
            places.setdefault(key, gpus[bracket])
    if not places and len(log.hosts) == 1 and not any(rank.bus_id for rank in log.ranks.values()):
        devices = {node.dev: node.id for node in machine.system.ranks if node.kind is NodeKind.GPU}
        if {*brackets.values()} == {*map(str, devices)}:
            places = {key: devices[int(bracket)] for key, bracket in brackets.items()}
    return places


def on_one_host(log: Log, one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether two ranks are on one host, as far as the log tells."""
    hosts = {rank.host for key in (one, other) if (rank := log.ranks.get(key))}
    return log.on_one_node or (len(hosts) == 1 and one in log.ranks and other in log.ranks)
