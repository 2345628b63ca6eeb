# SPDX-License-Identifier: Apache-2.0
"""The machine as NCCL models it (railgauge/topology/1): as an indented tree of CPUs and the devices below each, with
bandwidth; and as plain data, nodes, links and the facts about each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.link_state.pcie import PciState, Rate
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.ends import named
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Link, LinkKind, Node, NodeKind, System
from railgauge.topo.render.names import cpu_family, net_name, speed_text
from railgauge.topo.render.node_links import LinkFault, NodeLinks, node_links
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology

DOWN = (LinkKind.PCI, LinkKind.LOC, LinkKind.NET, LinkKind.MEM)
WITHOUT_NAME = (NodeKind.CPU, NodeKind.MEM)
"""Nodes whose facts do not begin with their name."""
NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyFacts:
    """Facts beyond the System: its links as they were judged, and the model of a GPU by bus id."""

    links: NodeLinks = field(default_factory=NodeLinks)
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of the tree, its kind (for colour), whether its link has a fault, and the lines below it."""

    label: str
    kind: NodeKind
    bad: bool
    below: tuple["Branch", ...]


def branches(
    system: System, known: TopologyFacts | None = None, names: Mapping[str, str] = NO_NAMES
) -> tuple[Branch, ...]:
    """One branch for each CPU node. `names`: of nodes by NCCL's id (ends.text_names); without them ids are printed."""
    return tuple(
        _branch(system, known or TopologyFacts(), names, cpu, None, frozenset()) for cpu in system.kind(NodeKind.CPU)
    )


def _branch(
    system: System,
    known: TopologyFacts,
    names: Mapping[str, str],
    node: Node,
    link: Link | None,
    passed: frozenset[str],
) -> Branch:
    seen = passed | {node.id}
    below = tuple(
        _branch(system, known, names, system.node(down.target), down, seen)
        for down in system.links_of(node.id)
        if down.kind in DOWN and down.target not in seen and system.node(down.target).kind is not NodeKind.CPU
    )
    pci, nvlinks = known.links.pci_faults(node), known.links.nvlink_faults(node)
    if link is None or link.kind is not LinkKind.PCI:
        pci = []  # shown at the card, not again at its GPU
    text = f"{_wire(link, known.links.pci_of(node))}{_named(node, link, known, names)}{_marks(pci)}"
    label = text + named(_side_links(system, node, _marks(nvlinks)), names)
    return Branch(label=label, kind=node.kind, bad=bool(pci or nvlinks), below=below)


def _wire(link: Link | None, pci: PciState | None) -> str:
    if link is None or link.kind is LinkKind.LOC:
        return ""
    width = f" ({pci.link.can.text})" if link.kind is LinkKind.PCI and pci and pci.link.can.text else ""
    return f"{link.kind} {speed_text(link.gb_per_s)}{width}{' (assumed)' if link.assumed else ''}  "


def _marks(faults: list[LinkFault]) -> str:
    return "".join(f"  <- {fault.full}" for fault in faults)


def _named(node: Node, link: Link | None, known: TopologyFacts, names: Mapping[str, str]) -> str:
    """A node and its facts: by its name, which is the first of the facts of most, or by its id with all facts."""
    facts, name = _facts(node, link, known), names.get(node.id)
    if name is None:
        return "  ".join(part for part in (node.id, facts) if part)
    return "  ".join(part for part in (name, facts) if part) if node.kind in WITHOUT_NAME else facts or name


def _facts(node: Node, link: Link | None, known: TopologyFacts) -> str:
    if node.kind is NodeKind.GPU:
        model = known.models.get(node.bus_id or "")
        rank = node.rank if node.rank is not None else "-"
        return f"GPU{node.dev}{f' {model}' if model else ''} {node.gfx or f'sm {node.sm}'} rank {rank}"
    if node.kind is NodeKind.HOST:
        return f"rank {node.rank} on cores {listed(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.CPU:
        return f"{_cpu(node)} cores {listed(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.NET:
        speed = f" {link.gb_per_s * 8:g} Gb/s" if link else ""
        return f"{net_name(node)}{speed}{' GPUDirect RDMA' if node.gdr else ''}"
    return node.bus_id or ""


def _cpu(node: Node) -> str:
    return cpu_family(node.vendor, *node.family_and_model) or node.arch or "unknown CPU"


def _side_links(system: System, node: Node, marks: str) -> str:
    """Links that are not part of the tree: NVLink, chip-to-chip, CPU to CPU; `marks` follow the last NVLink."""
    side = [link for link in system.links_of(node.id) if link.kind in (LinkKind.NVL, LinkKind.C2C, LinkKind.SYS)]
    lines = [
        f"\n  {_kind(node, link)} {speed_text(link.gb_per_s)}{_count(node, link)} -> {link.target}" for link in side
    ]
    place = max((number for number, link in enumerate(side, 1) if link.kind is LinkKind.NVL), default=0)
    return "".join((*lines[:place], marks, *lines[place:]))


def _kind(node: Node, link: Link) -> str:
    """The kind of a link; AMD's counterpart of NVLink is XGMI."""
    return "XGMI" if link.kind is LinkKind.NVL and node.gfx else link.kind


def _count(node: Node, link: Link) -> str:
    """The number of NVLinks; known only for a card, by its generation."""
    if link.kind is not LinkKind.NVL or not (node.sm or node.gfx):
        return ""
    return f" ({'x' if node.gfx else 'NV'}{nvlink_count(node, link.gb_per_s)})"


PLAIN = ("dev", "rank", "sm", "gfx", "gdr", "bus_id", "name", "port", "numa", "arch", "vendor")


def system_document(system: System, topology: Topology, inventory: MachineFacts | None = None) -> dict[str, Any]:
    """{"nodes": [...], "links": [...]}; links in one direction each, gb_per_s null where NCCL's model has no limit."""
    links = node_links(system, topology, inventory)
    nodes = []
    for node in system.nodes:
        faults = [fault.full for fault in links.faults(node)]
        nodes.append(_node_record(node, links.pci_of(node), inventory) | ({"faults": faults} if faults else {}))
    return {"nodes": nodes, "links": [_link_record(link) for link in system.links]}


def _node_record(node: Node, state: PciState | None, inventory: MachineFacts | None) -> dict[str, Any]:
    """Without fields that are unknown or that a kind does not have."""
    known: dict[str, Any] = {"id": node.id, "kind": node.kind.value, "host_index": node.system}
    known |= {key: value for key in PLAIN if (value := getattr(node, key)) is not None}
    if node.cpus:
        known["cores"] = listed(node.cpus)
    gpu = inventory.gpu(node.bus_id) if inventory and node.sm is not None else None
    if gpu and gpu.name:
        known["model"] = gpu.name
    if state:
        known["pci"] = _pci_record(state)
    return known


def _pci_record(state: PciState) -> dict[str, Any]:
    link, now = state.link, state.link.now or Rate()
    return {
        "gt_per_s": link.can.gt_per_s,
        "lanes": link.can.lanes,
        "gb_per_s": link.gb_per_s,
        "now_gt_per_s": now.gt_per_s,
        "now_lanes": now.lanes,
    }


def _link_record(link: Link) -> dict[str, Any]:
    limit = link.gb_per_s if link.gb_per_s < LOCAL_GB_PER_S else None
    return {"from": link.source, "to": link.target, "kind": link.kind.value, "gb_per_s": limit}
