# SPDX-License-Identifier: Apache-2.0
"""A System as a picture: every node once as a part, every wire once, without where they stand.

Every format (SVG, DOT, HTML) draws this, so that all say the same.
"""

from dataclasses import dataclass

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.link_state.pcie import PciState, Rate
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Link, LinkKind, Node, NodeKind, System
from railgauge.topo.render.names import nvlinks_text, short_speed
from railgauge.topo.render.node_links import LinkFault, NodeLinks, node_links
from railgauge.topo.render.picture.facts import facts, side_facts, title
from railgauge.topo.render.picture.parts import PROBLEM, Picture, PicturePart, PictureWire
from railgauge.topo.values.printable import inline
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology

MARK = "?"  # for control characters: the fonts of pictures may lack U+FFFD
TREE = (LinkKind.PCI, LinkKind.MEM)
BESIDE = (LinkKind.NVL, LinkKind.C2C)


def picture(system: System, topology: Topology, inventory: MachineFacts | None = None, name: str = "") -> Picture:
    """The picture of a System called `name`; `inventory` adds names and what links run at."""
    links = node_links(system, topology, inventory)
    scope = _Scope(system=system, links=links, inventory=inventory, drawn=set())
    cpus = tuple(_part(scope, cpu, None) for cpu in system.kind(NodeKind.CPU))
    switches = system.kind(NodeKind.NVS)
    return Picture(
        title=inline(name, MARK),
        subtitle=inline(" · ".join(filter(None, (_counts(system), nvlinks_text(inventory)))), MARK),
        cpus=cpus,
        switch=_switch(system, switches[0]) if switches else None,
        wires=_beside(system, links),
        between_cpus=_between_cpus(system),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What the functions below share. `drawn` are the ids that have their box."""

    system: System
    links: NodeLinks
    inventory: MachineFacts | None
    drawn: set[str]


def _part(scope: _Scope, node: Node, link: Link | None) -> PicturePart:
    scope.drawn.add(node.id)
    links = scope.links
    up = _up(node, link, links.pci_of(node), links.pci_faults(node)) if link else None
    faults = links.faults(node) if link else []
    known = [
        *facts(scope.system, scope.inventory, node),
        ("link", up.label if up else ""),
        *side_facts(scope.system, node),
        *((PROBLEM, f"\N{WARNING SIGN} {fault.brief}") for fault in faults),
    ]
    return PicturePart(
        id=node.id,
        kind=NodeKind.GPU if node.kind is NodeKind.DEV else node.kind,
        title=title(scope.system, node),
        facts=tuple((what, inline(text, MARK)) for what, text in known if text),
        note=_note(node, up),
        host=node.system,
        up=up,
        faults=tuple(fault.full for fault in faults),
        below=tuple(_part(scope, scope.system.node(down.target), down) for down in _down(scope, node)),
    )


def _down(scope: _Scope, node: Node) -> list[Link]:
    """The links to what hangs below and has no box yet, in the order of bus ids."""
    links = [link for link in scope.system.links_of(node.id) if link.kind in TREE]
    found = [link for link in links if link.target not in scope.drawn and _is_below(scope.system, node, link.target)]
    scope.drawn.update(link.target for link in found)
    return sorted(found, key=lambda link: scope.system.node(link.target).bus_id or "")


def _is_below(system: System, node: Node, target: str) -> bool:
    return node.kind in (NodeKind.CPU, NodeKind.PCI, NodeKind.MEM) and system.node(target).kind is not NodeKind.CPU


def _up(node: Node, link: Link, pci: PciState | None, faults: list[LinkFault]) -> PictureWire:
    can, now = (pci.link.can.text, (pci.link.now or Rate()).text) if pci else ("", "")
    speed = short_speed(link.real_gb_per_s) if link.gb_per_s < LOCAL_GB_PER_S else ""
    label = " · ".join(part for part in (f"now {pci.running.text}" if pci and link.now else can, speed) if part)
    problem = "; ".join(fault.full for fault in faults) or None
    planned = f"NCCL plans with {short_speed(link.gb_per_s)} ({can})" if link.now else ""
    other = f"runs at {now}" if now not in ("", can) and not link.now else ""
    facts = (f"{link.kind} {label}", other, planned, problem)
    return PictureWire(
        ends=(link.source, node.id),
        kind=link.kind,
        gb_per_s=link.real_gb_per_s,
        label=label,
        note="; ".join(fact for fact in facts if fact),
        problem=problem,
    )


def _note(node: Node, up: PictureWire | None) -> str:
    facts = [node.id, up.note if up else "", f"cores {listed(node.cpus)}" if node.cpus else ""]
    return "\n".join(fact for fact in facts if fact)


def _switch(system: System, node: Node) -> PicturePart:
    cards = sum(1 for link in system.links_of(node.id) if link.kind is LinkKind.NVL)
    facts = (("GPUs", f"NVLinks of {cards} GPUs"),)
    return PicturePart(id=node.id, kind=node.kind, title="NVSwitch", facts=facts, note=node.id)


def _beside(system: System, links: NodeLinks) -> tuple[PictureWire, ...]:
    """NVLinks and chip-to-chip links, each pair once, from the end that NCCL made first."""
    order = {node.id: place for place, node in enumerate(system.nodes)}
    wires = {}
    for link in (link for link in system.links if link.kind in BESIDE):
        first, second = sorted((link.source, link.target), key=order.__getitem__)
        if (first, second, link.kind) not in wires:
            faults = links.between(system.node(first), system.node(second), link.kind)
            wires[first, second, link.kind] = _wire(system, link, (first, second), faults)
    return tuple(wires.values())


def _wire(system: System, link: Link, ends: tuple[str, str], faults: list[LinkFault]) -> PictureWire:
    card = next(node for node in map(system.node, ends) if node.kind is NodeKind.DEV)
    label = f"NV{nvlink_count(card, link.gb_per_s)}" if link.kind is LinkKind.NVL else "C2C"
    note = f"{label} {short_speed(link.gb_per_s)}: {ends[0]} to {ends[1]}"
    problem = "; ".join(fault.full for fault in faults) or None
    return PictureWire(ends=ends, kind=link.kind, gb_per_s=link.gb_per_s, label=label, note=note, problem=problem)


def _between_cpus(system: System) -> tuple[PictureWire, ...]:
    return tuple(
        PictureWire(ends=(link.source, link.target), kind=link.kind, gb_per_s=link.gb_per_s)
        for link in system.links
        if link.kind is LinkKind.SYS and link.source < link.target
    )


def _counts(system: System) -> str:
    counted = (
        (len(system.gpus), "GPU"),
        (len(system.kind(NodeKind.HOST)), "host rank"),
        (len(system.nets), "NIC"),
        (len(system.kind(NodeKind.PCI)), "PCIe switch"),
        (len(system.kind(NodeKind.CPU)), "NUMA node"),
        (len({node.system for node in system.nodes}), "host"),
    )
    return " · ".join(_number(count, word) for count, word in counted if count and (word, count) != ("host", 1))


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}{'es' if word.endswith('ch') else 's'}"
