# SPDX-License-Identifier: Apache-2.0
"""The System as plain data for JSON (railgauge/topology/1): nodes, links, and the facts about each."""

from typing import Any

from railgauge.topo.facts.inventory import Inventory
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Link, Node, System
from railgauge.topo.nvlink_faults import short_of_nvlinks
from railgauge.topo.pci_wires import PciWire, pci_wires
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology

PLAIN = ("dev", "rank", "sm", "gdr", "bus_id", "name", "port", "numa", "arch", "vendor")


def content(system: System, topology: Topology, inventory: Inventory | None = None) -> dict[str, Any]:
    """{"nodes": [...], "links": [...]}; links one way each, gb_per_s null where NCCL's model has no limit."""
    wires, shortages = pci_wires(topology, inventory), short_of_nvlinks(system, inventory)
    nodes = []
    for node in system.nodes:
        wire, shortage = wires.get((node.system, node.bus_id or "")), shortages.get(node.id)
        faults = [fault for fault in (wire and wire.reason, shortage and shortage.reason) if fault]
        nodes.append(_node(node, wire, inventory) | ({"faults": faults} if faults else {}))
    return {"nodes": nodes, "links": [_link(link) for link in system.links]}


def _node(node: Node, wire: PciWire | None, inventory: Inventory | None) -> dict[str, Any]:
    """What a kind does not have, or nobody told, is left out."""
    known: dict[str, Any] = {"id": node.id, "kind": node.kind.value, "host_index": node.system}
    known |= {key: value for key in PLAIN if (value := getattr(node, key)) is not None}
    if node.cpus:
        known["cores"] = listed(node.cpus)
    gpu = inventory.gpu(node.bus_id) if inventory and node.sm is not None else None
    if gpu and gpu.name:
        known["model"] = gpu.name
    if wire:
        known["pci"] = _pci(wire)
    return known


def _pci(wire: PciWire) -> dict[str, Any]:
    return {
        "gt_per_s": wire.gt_per_s,
        "lanes": wire.lanes,
        "gb_per_s": wire.gb_per_s,
        "now_gt_per_s": wire.now_gt_per_s,
        "now_lanes": wire.now_lanes,
    }


def _link(link: Link) -> dict[str, Any]:
    limit = link.gb_per_s if link.gb_per_s < LOCAL_GB_PER_S else None
    return {"from": link.source, "to": link.target, "kind": link.kind.value, "gb_per_s": limit}
