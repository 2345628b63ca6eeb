# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: the joined rings to execute, from this machine's topology or from a graph file.

NCCL's environment has NCCL's meaning: NCCL_TOPO_FILE and NCCL_GRAPH_FILE are read, NCCL_TOPO_DUMP_FILE and
NCCL_GRAPH_DUMP_FILE written.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from railgauge.topo import graph_xml, xml
from railgauge.topo.channels import Graphs, search
from railgauge.topo.channels.joined import Joined, join
from railgauge.topo.channels.joined_ring import JoinedRing
from railgauge.topo.machine import load_machine
from railgauge.topo.model import System
from railgauge.topo.system import build_system
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.select import plan_transport


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What all ranks execute."""

    rings: list[list[int]]
    """For each channel the ranks in ring order."""
    gb_per_s: float
    """Predicted bus bandwidth of all channels together, in GB/s."""
    transports: list[list[str]]
    """For each channel and place in its ring the transport to the next rank."""
    cpus: list[list[int]]
    """The cores each rank belongs on; empty where nothing is known."""

    def to_dict(self) -> dict[str, object]:
        """For the bootstrap's broadcast."""
        return asdict(self)


def make_plan(ranks: int, graph_file: str | None, log: NcclLog, environ: Mapping[str, str] | None = None) -> Plan:
    """Plan `ranks` host ranks on this machine, over `graph_file`'s channels where it is given.

    Raises:
        InputError: a topology or graph file is unreadable, invalid or does not fit.
    """
    env = os.environ if environ is None else environ
    machine = load_machine(_named(env, "NCCL_TOPO_FILE", log))
    for warning in machine.warnings:
        log.info("INIT", f"Topology detection: {warning}", also="GRAPH")
    system = build_system(machine.topology, host_ranks=ranks)
    graph_file = graph_file or _named(env, "NCCL_GRAPH_FILE", log)
    graphs = graph_xml.load(graph_file, system) if graph_file else search(system)
    if path := _named(env, "NCCL_TOPO_DUMP_FILE", log):
        _write(path, xml.dumps(machine.topology))
    if path := _named(env, "NCCL_GRAPH_DUMP_FILE", log):
        _write(path, graph_xml.dumps(graphs, system))
    joined = join([(machine.host, system, graphs)])
    _log(graphs, joined, log)
    return Plan(
        rings=[list(ring.ranks) for ring in joined.rings],
        transports=[_transports(system, ring) for ring in joined.rings],
        gb_per_s=joined.gb_per_s,
        cpus=_cpus(system),
    )


def _named(env: Mapping[str, str], name: str, log: NcclLog) -> str | None:
    if value := env.get(name):
        log.info("ENV", f"{name} set by environment to {value}")
    return value or None


def _transports(system: System, ring: JoinedRing) -> list[str]:
    return [plan_transport(system.ranks[step.source], system.ranks[step.target]) for step in ring.edges]


def _cpus(system: System) -> list[list[int]]:
    return [list(node.cpus or ()) for node in system.ranks]


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        print(f"railgauge run: cannot write {path}: {error.strerror}; going on without", file=sys.stderr)


def _log(graphs: Graphs, joined: Joined, log: NcclLog) -> None:
    for graph in (graphs.ring, graphs.tree):
        log.info(
            "GRAPH",
            f"Pattern {graph.pattern}, crossNic {graph.cross_nic}, nChannels {len(graph.channels)}, "
            f"bw {graph.gb_per_s_intra:f}/{graph.gb_per_s_inter:f}, type {graph.type_intra}/{graph.type_inter}, "
            f"sameChannels {graph.same_channels}",
        )
    for number, ring in enumerate(joined.rings):
        order = " ".join(str(rank) for rank in ring.ranks)
        log.info("INIT", f"Channel {number:02d}/{len(joined.rings):02d} : {order}", also="GRAPH")
