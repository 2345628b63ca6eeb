# SPDX-License-Identifier: Apache-2.0
"""The System as plain data for JSON (railgauge/topology/1): nodes, links, and the facts about each."""

from typing import Any

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.link_state import PciState, Rate
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Link, Node, System
from railgauge.topo.render.node_links import node_links
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology

PLAIN = ("dev", "rank", "sm", "gdr", "bus_id", "name", "port", "numa", "arch", "vendor")


def content(system: System, topology: Topology, inventory: MachineFacts | None = None) -> dict[str, Any]:
    """{"nodes": [...], "links": [...]}; links one way each, gb_per_s null where NCCL's model has no limit."""
    links = node_links(system, topology, inventory)
    nodes = []
    for node in system.nodes:
        faults = [fault.full for fault in links.faults(node)]
        nodes.append(_node(node, links.pci_of(node), inventory) | ({"faults": faults} if faults else {}))
    return {"nodes": nodes, "links": [_link(link) for link in system.links]}


def _node(node: Node, state: PciState | None, inventory: MachineFacts | None) -> dict[str, Any]:
    """What a kind does not have, or nobody told, is left out."""
    known: dict[str, Any] = {"id": node.id, "kind": node.kind.value, "host_index": node.system}
    known |= {key: value for key in PLAIN if (value := getattr(node, key)) is not None}
    if node.cpus:
        known["cores"] = listed(node.cpus)
    gpu = inventory.gpu(node.bus_id) if inventory and node.sm is not None else None
    if gpu and gpu.name:
        known["model"] = gpu.name
    if state:
        known["pci"] = _pci(state)
    return known


def _pci(state: PciState) -> dict[str, Any]:
    link, now = state.link, state.link.now or Rate()
    return {
        "gt_per_s": link.can.gt_per_s,
        "lanes": link.can.lanes,
        "gb_per_s": link.gb_per_s,
        "now_gt_per_s": now.gt_per_s,
        "now_lanes": now.lanes,
    }


def _link(link: Link) -> dict[str, Any]:
    limit = link.gb_per_s if link.gb_per_s < LOCAL_GB_PER_S else None
    return {"from": link.source, "to": link.target, "kind": link.kind.value, "gb_per_s": limit}
