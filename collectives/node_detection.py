# SPDX-License-Identifier: Apache-2.0
"""Detects this machine and searches its channels as one node of a run: what the first rank of each node does for the
others.

NCCL's environment has NCCL's meaning: NCCL_TOPO_FILE and NCCL_GRAPH_FILE are read, NCCL_TOPO_DUMP_FILE and
NCCL_GRAPH_DUMP_FILE written.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from railgauge.collectives.gpu_domains import gpu_domains
from railgauge.collectives.gpu_links import gpu_links, near_cpus, of_gpus
from railgauge.collectives.node import JoiningNode
from railgauge.collectives.node_machine import dump_path, read_machine
from railgauge.topo.channels import graph_file
from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import Graphs
from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.files.output_file import write_file
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology
from railgauge.transports.ib.device import IbDevice
from railgauge.transports.interface import Interface, usable_interfaces
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.select import NET_SOCKET

Carrier: TypeAlias = Interface | IbDevice
"""The device of the job's network for a NIC of the topology."""


def detect_node(
    name: str,
    ranks: int,
    nodes: int,
    graph_path: str | None,
    log: NcclLog,
    environ: Mapping[str, str],
    gpus: Sequence[str] = (),
    network: Network = SOCKETS,
    save_capture: str | None = None,
) -> JoiningNode:
    """Detect this machine as one of `nodes` for `ranks` ranks, with `graph_path`'s channels if it is given.

    `gpus`: the bus ids of the ranks' GPUs; none of ranks in host memory. `network`: what ranks agreed on.
    `save_capture`: a file for a capture of this machine, from which the plan is then made.

    Raises:
        InputError: a topology or graph file is unreadable, invalid or does not fit.
        UnavailableError: there is no network interface to use between nodes.
    """
    carriers = _carriers(network, environ) if nodes > 1 else []
    if save_capture and nodes > 1:
        save_capture = dump_path(save_capture, name)
    topology, system, facts = _machine(None if gpus else ranks, gpus, carriers, log, environ, save_capture)
    graph_path = graph_path or _named(environ, "NCCL_GRAPH_FILE", log)
    graphs = graph_file.load(graph_path, system) if graph_path else search(system, nodes=nodes)
    links = gpu_links(system, environ)
    node = JoiningNode(
        name=name,
        ranks=ranks,
        topology=topology_file.dumps(topology),
        graphs=graph_file.dumps(graphs, system),
        cpus=[list(rank.cpus) for rank in (near_cpus(system) if gpus else system.ranks)],
        gpus=list(gpus),
        p2p=links.p2p,
        gb_per_s=links.gb_per_s,
        nvlink=links.nvlink,
        devices=_devices(system, carriers, log),
        nics=[dev_number(nic) for nic in links.nics],
        direct=links.direct,
        domains=gpu_domains(facts, gpus, environ, log) if nodes > 1 else [],
    )
    for variable, text in (("NCCL_TOPO_DUMP_FILE", node.topology), ("NCCL_GRAPH_DUMP_FILE", node.graphs)):
        if path := _named(environ, variable, log):
            _write(path if nodes == 1 else dump_path(path, name), text)
    _log(graphs, log)
    return node


def _machine(
    host_ranks: int | None,
    gpus: Sequence[str],
    carriers: Sequence[Carrier],
    log: NcclLog,
    environ: Mapping[str, str],
    save_capture: str | None,
) -> tuple[Topology, System, MachineFacts | None]:
    """The topology of the ranks and its System; the machine's facts, None for a topology file."""
    everything = {name: value for name, value in environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    machine = _loaded(_named(environ, "NCCL_TOPO_FILE", log), carriers, everything if gpus else environ, save_capture)
    for warning in machine.warnings:
        log.info("INIT", f"Topology detection: {warning}", also="GRAPH")
    topology = of_gpus(machine.topology, gpus) if gpus else machine.topology
    if any(isinstance(one, IbDevice) and len(one.ports) > 1 for one in carriers):
        topology = merge_nics(topology)
    system = build_system(topology, host_ranks=host_ranks)
    if not carriers or system.nets:
        return topology, system, machine.facts
    log.info("NET", f"The topology has no NIC: using {carriers[0]}, on the first CPU", also="GRAPH")
    topology = _with_nic(topology, carriers[0].name)
    return topology, build_system(topology, host_ranks=host_ranks), machine.facts


def _loaded(
    topo_file: str | None, carriers: Sequence[Carrier], environ: Mapping[str, str], save_capture: str | None
) -> Machine:
    """The machine; its NICs are those of the network, if ranks communicate with other nodes."""
    if topo_file or not carriers or isinstance(carriers[0], IbDevice):
        return read_machine(environ, topo_file, save_capture)
    names = ",".join(carrier.name for carrier in carriers)
    sockets = {**environ, "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": f"={names}"}
    return read_machine(sockets, None, save_capture)


def _with_nic(topology: Topology, name: str) -> Topology:
    """The topology with an additional NIC, on the first CPU, of unknown speed."""
    net = Element(name="net", attributes=(("name", name), ("dev", "0"), ("speed", "10000"), ("port", "0")))
    nic = Element(name="nic", children=(net,))
    first = topology.cpus[0]
    with_nic = replace(first, children=(*first.children, nic))
    children = tuple(with_nic if child is first else child for child in topology.root.children)
    return replace(topology, root=replace(topology.root, children=children))


def _carriers(network: Network, environ: Mapping[str, str]) -> Sequence[Carrier]:
    """The network's devices on this host."""
    return usable_interfaces(environ) if network.name == NET_SOCKET else network.devices


def _devices(system: System, carriers: Sequence[Carrier], log: NcclLog) -> list[tuple[int, int]]:
    numbers = {
        carrier.name: carrier.number if isinstance(carrier, IbDevice) else place
        for place, carrier in reversed(list(enumerate(carriers)))
    }
    for net in system.nets if carriers else ():
        if net.name not in numbers:
            what = "a NIC of NET/IB" if isinstance(carriers[0], IbDevice) else "an interface"
            log.info("NET", f"{net.id} ({net.name}) is not {what} of this host: using {carriers[0]} instead")
    return [(dev_number(net), numbers[net.name]) for net in system.nets if net.name in numbers]


def _named(env: Mapping[str, str], name: str, log: NcclLog) -> str | None:
    if value := env.get(name):
        log.info("ENV", f"{name} set by environment to {value}")
    return value or None


def _write(path: str, text: str) -> None:
    try:
        write_file(path, text.encode())
    except UnavailableError as error:
        print(f"railgauge run: {error}; continuing without it", file=sys.stderr)


def _log(graphs: Graphs, log: NcclLog) -> None:
    for graph in (graphs.ring, graphs.tree):
        log.info(
            "GRAPH",
            f"Pattern {graph.pattern}, crossNic {graph.cross_nic}, nChannels {len(graph.channels)}, "
            f"bw {graph.gb_per_s_intra:f}/{graph.gb_per_s_inter:f}, type {graph.type_intra}/{graph.type_inter}, "
            f"sameChannels {graph.same_channels}",
        )
