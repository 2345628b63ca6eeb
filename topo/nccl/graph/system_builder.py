# SPDX-License-Identifier: Apache-2.0
"""A System under construction: ids, and links summed and sorted as NCCL does.

NCCL's functions: `ncclTopoCreateNode`, `ncclTopoConnectNodes`, `ncclTopoSort`.
"""

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from railgauge.topo.errors import InputError
from railgauge.topo.nccl.graph.figures import Figure
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System

LOCAL_ID_MASK = 0x00FFFFFFFFFFFFFF  # NCCL_TOPO_ID: the system's number is in the byte above
MOST_OF_A_KIND = 576  # GPUs of the largest NVLink domains; paths take the square of it, and more
Fact: TypeAlias = Any  # a field of Node


class LinkTarget(NamedTuple):
    """A link by what it leads to."""

    target: str
    kind: LinkKind
    figure: Figure


class SystemBuilder:
    """Mutable nodes and links; `links` holds the links by source in NCCL's order."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.links: dict[str, list[LinkTarget]] = {}
        self._counts: dict[NodeKind, int] = {}
        self._copies: dict[str, int] = {}
        self._listed_nets: list[str] = []

    def add(self, kind: NodeKind, system: int, local: int, line: int | None, path: str | None, **facts: Fact) -> str:
        """Make a node and return its id; InputError at `line` if it exists."""
        node_id = f"{kind}/{system:x}-{local & LOCAL_ID_MASK:x}"
        if node_id in self.nodes:
            raise InputError(f"{node_id} is in the file twice", path, line)
        return self._create(node_id, kind, system, line, path, facts)

    def add_again(
        self, kind: NodeKind, system: int, local: int, line: int | None, path: str | None, **facts: Fact
    ) -> str:
        """Make a node; of a switch that the file has twice NCCL makes two, and the second is id#1."""
        node_id = f"{kind}/{system:x}-{local & LOCAL_ID_MASK:x}"
        copies = self._copies[node_id] = self._copies.get(node_id, -1) + 1
        return self._create(f"{node_id}#{copies}" if copies else node_id, kind, system, line, path, facts)

    def add_net(
        self, nic: str, system: int, dev: int, speed: Figure, line: int | None, path: str | None, **facts: Fact
    ) -> None:
        """Make a NET on a card. One that the card has already, NCCL counts again: the file lists a socket's interface
        once for the CPU of each rank. One number on two cards is one NIC with two links to it.
        """
        held = (link for link in self.links[nic] if link.kind is LinkKind.NET and link.figure == speed)
        known = next((link.target for link in held if _has(self.nodes[link.target], dev=dev, **facts)), None)
        if known is None:
            known = self.find(NodeKind.NET, system, dev)
            known = known or self.add(NodeKind.NET, system, dev, line, path, dev=dev, **facts)
            self.wire(nic, known, LinkKind.NET, speed)
        self._listed_nets.append(known)

    def _create(
        self, node_id: str, kind: NodeKind, system: int, line: int | None, path: str | None, facts: dict[str, Fact]
    ) -> str:
        index = self._counts.get(kind, 0)
        if index >= MOST_OF_A_KIND:
            raise InputError(f"more than {MOST_OF_A_KIND} {kind} nodes", path, line)
        self._counts[kind] = index + 1
        self.nodes[node_id] = Node(id=node_id, kind=kind, index=index, system=system, line=line, **facts)
        self.links[node_id] = []
        return node_id

    def find(self, kind: NodeKind, system: int, local: int) -> str | None:
        """A node's id, None without such a node."""
        node_id = f"{kind}/{system:x}-{local & LOCAL_ID_MASK:x}"
        return node_id if node_id in self.nodes else None

    def get_or_add(self, kind: NodeKind, system: int, local: int) -> str:
        """A node's id; the node is created if missing."""
        return self.find(kind, system, local) or self.add(kind, system, local, None, None)

    def number_ranks(self, node_ids: list[str]) -> None:
        """Give the nodes the ranks 0, 1, ... in that order, so that there is no gap."""
        for rank, node_id in enumerate(node_ids):
            self.nodes[node_id] = replace(self.nodes[node_id], rank=rank)

    def node(self, node_id: str) -> Node:
        """The node of that id."""
        return self.nodes[node_id]

    def of_kind(self, kind: NodeKind) -> list[str]:
        """Ids of a kind, in order of creation."""
        return [key for key, node in self.nodes.items() if node.kind is kind]

    def wire(self, one: str, other: str, kind: LinkKind, figure: Figure) -> None:
        """Connect two nodes in both directions."""
        self.connect(one, other, kind, figure)
        self.connect(other, one, kind, figure)

    def connect(self, source: str, target: str, kind: LinkKind, figure: Figure) -> None:
        """Add one direction: speeds of equal links are summed, faster links come first."""
        links = self.links[source]
        at = next((i for i, wire in enumerate(links) if (wire.target, wire.kind) == (target, kind)), len(links))
        total = links.pop(at).figure.plus(figure) if at < len(links) else figure
        while at > 0 and links[at - 1].figure.gb_per_s < total.gb_per_s:
            at -= 1
        links.insert(at, LinkTarget(target, kind, total))

    def local_cpu(self, node_id: str, came_from: str | None = None) -> str | None:
        """The CPU above a node, through PCI switches only (`findLocalCpu`)."""
        if self.nodes[node_id].kind is NodeKind.CPU:
            return node_id
        for target, kind, _ in self.links[node_id]:
            up = self.nodes[target].kind in (NodeKind.PCI, NodeKind.CPU)
            if kind is LinkKind.PCI and up and target != came_from:
                found = self.local_cpu(target, node_id)
                if found is not None:
                    return found
        return None

    def remove(self, node_id: str) -> None:
        """Remove a node and every link to it."""
        del self.nodes[node_id], self.links[node_id]
        for source, links in self.links.items():
            self.links[source] = [wire for wire in links if wire.target != node_id]

    def sort(self) -> None:
        """Put the link up the PCI tree last on every node below a CPU."""
        for cpu in self.of_kind(NodeKind.CPU):
            self._sort_below(cpu, None)

    def _sort_below(self, node_id: str, above: str | None) -> None:
        links = self.links[node_id]
        up = next((i for i, wire in enumerate(links) if wire.target == above), None)
        if up is not None:
            links.append(links.pop(up))
        for target, kind, _ in list(links):
            if kind is LinkKind.PCI and target != above:
                self._sort_below(target, node_id)

    def build(self, ranks: tuple[str, ...] = ()) -> System:
        """The finished System."""
        links = (
            Link(
                source=source,
                target=wire.target,
                kind=wire.kind,
                gb_per_s=wire.figure.gb_per_s,
                origin=wire.figure.origin,
                assumed=wire.figure.assumed,
                now_gb_per_s=wire.figure.now.gb_per_s if wire.figure.now else None,
                now=wire.figure.now.origin if wire.figure.now else "",
            )
            for source, out in self.links.items()
            for wire in out
        )
        return System(
            nodes=tuple(self.nodes.values()),
            links=tuple(links),
            ranks=tuple(self.nodes[key] for key in ranks),
            net_order=tuple(self._listed_nets),
        )


def _has(node: Node, **facts: Fact) -> bool:
    return all(getattr(node, key) == value for key, value in facts.items())
