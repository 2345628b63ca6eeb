# SPDX-License-Identifier: Apache-2.0
"""The machine as an indented tree: CPUs, what hangs below each, and with how much bandwidth."""

from dataclasses import dataclass

from railgauge.topo.cpuset import to_list
from railgauge.topo.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.render.wire_text import is_assumed, speed_text

DOWN = (LinkKind.PCI, LinkKind.LOC, LinkKind.NET, LinkKind.MEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of the tree, its kind (for colour) and what is below it."""

    label: str
    kind: NodeKind
    below: tuple["Branch", ...]


def branches(system: System) -> tuple[Branch, ...]:
    """One branch for each CPU node."""
    return tuple(_branch(system, cpu, None, frozenset()) for cpu in system.kind(NodeKind.CPU))


def _branch(system: System, node: Node, link: Link | None, passed: frozenset[str]) -> Branch:
    seen = passed | {node.id}
    below = tuple(
        _branch(system, system.node(down.target), down, seen)
        for down in system.links_of(node.id)
        if down.kind in DOWN and down.target not in seen and system.node(down.target).kind is not NodeKind.CPU
    )
    return Branch(label=_label(system, node, link), kind=node.kind, below=below)


def _label(system: System, node: Node, link: Link | None) -> str:
    return f"{_wire(system, link)}{node.id}{_facts(node)}{_side_links(system, node)}"


def _wire(system: System, link: Link | None) -> str:
    if link is None or link.kind is LinkKind.LOC:
        return ""
    return f"{link.kind} {speed_text(link.gb_per_s)}{' (assumed)' if is_assumed(system, link) else ''}  "


def _facts(node: Node) -> str:
    if node.kind is NodeKind.GPU:
        return f"  GPU{node.dev} sm {node.sm} rank {node.rank if node.rank is not None else '-'}"
    if node.kind is NodeKind.HOST:
        return f"  rank {node.rank} on cores {to_list(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.CPU:
        return f"  {node.vendor or node.arch or 'unknown CPU'} cores {to_list(node.cpus) or 'unknown'}"
    if node.kind is NodeKind.NET:
        return f"  {node.name} port {node.port}{' GPUDirect RDMA' if node.gdr else ''}"
    return f"  {node.bus_id}" if node.bus_id else ""


def _side_links(system: System, node: Node) -> str:
    """Wires that are no part of the tree: NVLink, chip-to-chip, CPU to CPU."""
    side = [link for link in system.links_of(node.id) if link.kind in (LinkKind.NVL, LinkKind.C2C, LinkKind.SYS)]
    return "".join(f"\n  {link.kind} {speed_text(link.gb_per_s)} -> {link.target}" for link in side)
