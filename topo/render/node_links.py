# SPDX-License-Identifier: Apache-2.0
"""The links of the nodes of a System as they were judged (topo/link_state/), and their faults in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.link_state.nvlink import NvlinkState
from railgauge.topo.link_state.pcie import EndpointKind, PciState
from railgauge.topo.link_state.verdict import Reason
from railgauge.topo.nccl.graph.link_facts import nvlink_states, pci_states
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.graph.pci_place import numbered_cpus
from railgauge.topo.nccl.paths.paths import Path
from railgauge.topo.values.busid import to_number
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import Topology

Place = tuple[int, int]
"""The number of a host in NCCL's order, and a bus id as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFault:
    """The fault of a link, in brief and in full."""

    brief: str
    full: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLinks:
    """The states of the links by place; `merged`: of switches that NCCL counts as part of the switch at that place;
    `depth`: how many <pci> are above it.
    """

    pci: dict[Place, PciState] = field(default_factory=dict)
    merged: dict[Place, list[PciState]] = field(default_factory=dict)
    nvlinks: dict[Place, NvlinkState] = field(default_factory=dict)
    depth: dict[Place, int] = field(default_factory=dict)

    def pci_of(self, node: Node) -> PciState | None:
        """The PCIe link above a node, None without one."""
        return self.pci.get(_place(node)) if node.bus_id else None

    def nvlinks_of(self, node: Node) -> NvlinkState | None:
        """The NVLinks of a card, None of any other node."""
        return self.nvlinks.get(_place(node)) if node.kind is NodeKind.DEV else None

    def pci_faults(self, node: Node) -> list[LinkFault]:
        """The faults of the PCIe link above a node, and above switches that count as part of it."""
        state = self.pci_of(node)
        own = [_pci_fault(state)] if state and state.is_fault else []
        return own + [_named(inner) for inner in self.merged.get(_place(node), ()) if node.kind is NodeKind.PCI]

    def nvlink_faults(self, node: Node) -> list[LinkFault]:
        """The fault of the NVLinks of a node."""
        state = self.nvlinks_of(node)
        return [_nvlink_fault(state)] if state and state.is_fault else []

    def lost_nvlinks(self, node: Node) -> list[LinkFault]:
        """The fault of a node that should have NVLinks and has none."""
        state = self.nvlinks_of(node)
        return self.nvlink_faults(node) if state and not state.count else []

    def faults(self, node: Node) -> list[LinkFault]:
        """All faults of the links of a node."""
        return self.pci_faults(node) + self.nvlink_faults(node)

    def between(self, one: Node, other: Node, kind: LinkKind) -> list[LinkFault]:
        """What is wrong with a link between two nodes. Of NVLinks what is surely of these: where all of a GPU end at
        NVSwitches, or where the GPU at the other end has more.
        """
        if kind is LinkKind.PCI:
            return self.pci_faults(max(one, other, key=lambda node: self.depth.get(_place(node), -1)))
        found = []
        for node, peer in ((one, other), (other, one)) if kind is LinkKind.NVL else ():
            state = self.nvlinks_of(node)
            uneven = {number for _, number in state.uneven} if state else set()
            is_known = peer.kind is NodeKind.NVS or _place(peer)[1] in uneven
            found += self.nvlink_faults(node) if is_known else []
        return found


def node_links(system: System, topology: Topology, inventory: MachineFacts | None = None) -> NodeLinks:
    """Judge the links of a topology; `inventory`: of the machine that it is of."""
    hosts = {str(host_of(cpu.get("host_hash"))): number for number, cpu in numbered_cpus(topology)}
    states = pci_states(topology, inventory)
    switches = {_place(node) for node in system.kind(NodeKind.PCI)}
    merged: dict[Place, list[PciState]] = {}
    for state in states:
        place = hosts.get(state.link.key[0], 0), state.link.key[1]
        if state.is_fault and state.link.kind is EndpointKind.SWITCH and place not in switches:
            merged.setdefault((place[0], _switch_above(state, states, switches, place[0])), []).append(state)
    nvlinks = nvlink_states(topology, inventory).items()
    pci = {(hosts.get(state.link.key[0], 0), state.link.key[1]): state for state in states}
    return NodeLinks(
        pci=pci,
        merged=merged,
        nvlinks={(hosts.get(host, 0), number): state for (host, number), state in nvlinks},
        depth={place: _depth(state, states) for place, state in pci.items()},
    )


def path_faults(links: NodeLinks, system: System, path: Path) -> dict[Link, list[str]]:
    """The faults of the links of a path, by link. Where two GPUs reach each other without NVLink, it is at the ends
    that a GPU has none of its NVLinks.
    """
    ends = {link: (system.node(link.source), system.node(link.target)) for link in path.links}
    found = {link: links.between(*pair, link.kind) for link, pair in ends.items()}
    if _joins_gpus(ends.values()) and not any(link.kind is LinkKind.NVL for link in ends):
        for link, pair in ends.items():
            found[link] += [fault for node in pair if link.kind is LinkKind.LOC for fault in links.lost_nvlinks(node)]
    return {link: [fault.full for fault in faults] for link, faults in found.items() if faults}


def _joins_gpus(ends: Iterable[tuple[Node, Node]]) -> bool:
    """Whether a path of such links begins and ends at a GPU."""
    hops = list(ends)
    return bool(hops) and hops[0][0].kind is NodeKind.GPU and hops[-1][1].kind is NodeKind.GPU


def _place(node: Node) -> Place:
    return node.system, to_number(node.bus_id or "")


def _depth(state: PciState, states: Sequence[PciState]) -> int:
    above, depth = state.link.above, 0
    while above is not None:
        above, depth = states[above].link.above, depth + 1
    return depth


def _switch_above(state: PciState, states: Sequence[PciState], switches: set[Place], host: int) -> int:
    """The bus id of the next switch above that is a node; its own without one."""
    above = state.link.above
    while above is not None and (host, states[above].link.key[1]) not in switches:
        above = states[above].link.above
    return state.link.key[1] if above is None else states[above].link.key[1]


def _pci_fault(state: PciState) -> LinkFault:
    full, gb_per_s = state.full, f"{state.link.gb_per_s:g} GB/s"
    if state.reason in (Reason.ENDS_LANES, Reason.ENDS_SPEED):
        parts = (state.running.text, full.text)
        if state.reason is Reason.ENDS_LANES:
            parts = (f"x{state.running.lanes}", f"x{full.lanes}")
        return LinkFault(
            brief=f"runs {parts[0]} of {parts[1]}", full=f"runs {state.running.text}, both ends support {full.text}"
        )
    if state.reason is Reason.TWINS:
        return LinkFault(
            brief=f"its twins: {full.text}", full=f"{state.many} of {state.among} such devices have {full.text}"
        )
    if state.reason is Reason.PORT:
        return LinkFault(brief="port is faster", full=f"carries {gb_per_s}, a port of it {state.full_gb_per_s:g}")
    if state.reason is Reason.PORTS:
        return LinkFault(brief="ports are faster", full=f"carries {gb_per_s}, its ports {state.full_gb_per_s:g}")
    return LinkFault(brief="narrow uplink", full=f"carries {gb_per_s}, a single link below it {state.full_gb_per_s:g}")


def _named(state: PciState) -> LinkFault:
    """The fault of a link that is not drawn."""
    fault = _pci_fault(state)
    return LinkFault(brief=f"{state.link.bus_id} {fault.brief}", full=f"{state.link.bus_id}: {fault.full}")


def _nvlink_fault(state: NvlinkState) -> LinkFault:
    brief = f"{state.count} of {state.full} NVLinks" + (f" to {state.peer.bus_id}" if state.peer else "")
    return LinkFault(brief=brief, full=f"{brief} are up")
