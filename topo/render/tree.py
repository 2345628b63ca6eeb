# SPDX-License-Identifier: Apache-2.0
"""The machine as an indented tree: CPUs, what hangs below each, and with how much bandwidth."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.topo.link_state import PciState
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.render.names import cpu_family, net_name, speed_text
from railgauge.topo.render.node_links import Fault, NodeLinks
from railgauge.topo.values.spans import listed

DOWN = (LinkKind.PCI, LinkKind.LOC, LinkKind.NET, LinkKind.MEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts beyond the System: its links as they were judged, and the model of a GPU by bus id."""

    links: NodeLinks = field(default_factory=NodeLinks)
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of the tree, its kind (for colour), whether something is wrong with its link, and what is below it."""

    label: str
    kind: NodeKind
    bad: bool
    below: tuple["Branch", ...]


def branches(system: System, known: Known | None = None) -> tuple[Branch, ...]:
    """One branch for each CPU node."""
    return tuple(_branch(system, known or Known(), cpu, None, frozenset()) for cpu in system.kind(NodeKind.CPU))


def _branch(system: System, known: Known, node: Node, link: Link | None, passed: frozenset[str]) -> Branch:
    seen = passed | {node.id}
    below = tuple(
        _branch(system, known, system.node(down.target), down, seen)
        for down in system.links_of(node.id)
        if down.kind in DOWN and down.target not in seen and system.node(down.target).kind is not NodeKind.CPU
    )
    pci, nvlinks = known.links.pci_faults(node), known.links.nvlink_faults(node)
    if link is None or link.kind is not LinkKind.PCI:
        pci = []  # told of the card, and not again of its GPU
    text = f"{_wire(link, known.links.pci_of(node))}{node.id}{_facts(node, link, known)}{_marks(pci)}"
    label = text + _side_links(system, node) + _marks(nvlinks)
    return Branch(label=label, kind=node.kind, bad=bool(pci or nvlinks), below=below)


def _wire(link: Link | None, pci: PciState | None) -> str:
    if link is None or link.kind is LinkKind.LOC:
        return ""
    width = f" ({pci.link.can.text})" if link.kind is LinkKind.PCI and pci and pci.link.can.text else ""
    return f"{link.kind} {speed_text(link.gb_per_s)}{width}{' (assumed)' if link.assumed else ''}  "


def _marks(faults: list[Fault]) -> str:
    return "".join(f"  <- {fault.full}" for fault in faults)


def _facts(node: Node, link: Link | None, known: Known) -> str:
    if node.kind is NodeKind.GPU:
        model = known.models.get(node.bus_id or "")
        rank = node.rank if node.rank is not None else "-"
        return f"  GPU{node.dev}{f' {model}' if model else ''} sm {node.sm} rank {rank}"
    if node.kind is NodeKind.HOST:
        return f"  rank {node.rank} on cores {listed(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.CPU:
        return f"  {_cpu(node)} cores {listed(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.NET:
        speed = f" {link.gb_per_s * 8:g} Gb/s" if link else ""
        return f"  {net_name(node)}{speed}{' GPUDirect RDMA' if node.gdr else ''}"
    return f"  {node.bus_id}" if node.bus_id else ""


def _cpu(node: Node) -> str:
    return cpu_family(node.vendor, *node.family_and_model) or node.arch or "unknown CPU"


def _side_links(system: System, node: Node) -> str:
    """Wires that are no part of the tree: NVLink, chip-to-chip, CPU to CPU."""
    side = [link for link in system.links_of(node.id) if link.kind in (LinkKind.NVL, LinkKind.C2C, LinkKind.SYS)]
    lines = [f"\n  {link.kind} {speed_text(link.gb_per_s)}{_count(node, link)} -> {link.target}" for link in side]
    return "".join(lines)


def _count(node: Node, link: Link) -> str:
    """How many NVLinks that is; only a card tells, by its generation."""
    return f" (NV{nvlink_count(node, link.gb_per_s)})" if link.kind is LinkKind.NVL and node.sm else ""
