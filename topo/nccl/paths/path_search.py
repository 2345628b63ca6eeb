# SPDX-License-Identifier: Apache-2.0
"""Routes from every node to one, by NCCL's breadth-first relaxation (`ncclTopoSetPaths`, 2.30).

Nodes are positions in the System here, and a route shares the chain of its links with the route it extends, because
this is the innermost loop.
"""

from typing import NamedTuple, TypeAlias

from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Link, LinkKind, NodeKind, System

LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS = range(12)  # PATH_TYPES by rank
LINK_TYPE = {
    LinkKind.LOC: LOC,
    LinkKind.NVL: NVL,
    LinkKind.C2C: C2C,
    LinkKind.PCI: PIX,
    LinkKind.SYS: SYS,
    LinkKind.NET: LOC,  # the path counts from the NIC on
    LinkKind.MEM: PHB,
}
OPEN, RELAY, CLOSED = range(3)  # a link out of a card: passable, over one further NVLink at most, or from the base only
Trail: TypeAlias = "tuple[Link, Trail] | tuple[()]"  # the first link, then the trail of the rest
Step: TypeAlias = tuple[int, int, float, Link, int]  # target, type, GB/s, the link back, gate


class Route(NamedTuple):
    """A route to a node: rank of its type, bandwidth, number of links, and the links in order of travel."""

    kind: int
    gb_per_s: float
    hops: int
    trail: Trail

    @property
    def links(self) -> tuple[Link, ...]:
        """The links in order of travel."""
        found, rest = [], self.trail
        while rest:
            link, rest = rest
            found.append(link)
        return tuple(found)


NOWHERE = Route(DIS, 0.0, 0, ())


class Wires:
    """The links of a System by the positions of their ends, with all facts that a search needs.

    A link without a reverse link is left out. `nvb` False: no path relays over another GPU's NVLinks
    (NCCL_NVB_DISABLE).
    """

    def __init__(self, system: System, *, nvb: bool = True) -> None:
        self.at = {node.id: position for position, node in enumerate(system.nodes)}
        self.kinds = [node.kind for node in system.nodes]
        back = {(link.target, link.source, link.kind): link for link in reversed(system.links)}
        self.out: list[list[Step]] = [[] for _ in system.nodes]
        for link in system.links:
            reverse = back.get((link.source, link.target, link.kind))
            if reverse is not None:
                source, target = self.at[link.source], self.at[link.target]
                ends = self.kinds[source], self.kinds[target]
                step = step_type(*ends, link.kind), link.gb_per_s, reverse, gate(*ends, link.kind, nvb=nvb)
                self.out[source].append((target, *step))

    def card(self, position: int) -> int:
        """The card of a GPU; any other node is its own."""
        if self.kinds[position] is NodeKind.GPU and self.out[position]:
            return self.out[position][0][0]
        return position


def step_type(source: NodeKind, target: NodeKind, kind: LinkKind) -> int:
    """The path type of one link: between switches PXB, PCI at a CPU PHB, else the link's own type."""
    if source is target is NodeKind.PCI:
        return PXB
    if kind is LinkKind.PCI and NodeKind.CPU in (source, target):
        return PHB
    return LINK_TYPE[kind]


def gate(source: NodeKind, target: NodeKind, kind: LinkKind, *, nvb: bool) -> int:
    """Where a path may go on over a link: out of a card only to its GPU, or by NVLink to another card."""
    if source is not NodeKind.DEV or (kind is LinkKind.LOC and target is NodeKind.GPU):
        return OPEN
    return RELAY if nvb and kind is LinkKind.NVL and target is NodeKind.DEV else CLOSED


def routes_to(wires: Wires, base: int) -> list[Route]:
    """The route to the node at position `base` from each position; NOWHERE if there is none."""
    found = [NOWHERE] * len(wires.out)
    found[base] = Route(LOC, LOCAL_GB_PER_S, 0, ())
    own, reach = wires.card(base), 2 if wires.kinds[base] is NodeKind.GPU else 1
    frontier = [base]
    while frontier:
        following: dict[int, None] = {}
        for here in frontier:
            if wires.kinds[here] in (NodeKind.NET, NodeKind.HOST) and here != base:
                continue  # an end, never on the way
            _relax(wires, found, here, own, reach, following)
        frontier = list(following)
    return found


def _relax(wires: Wires, found: list[Route], here: int, own: int, reach: int, following: dict[int, None]) -> None:
    """Offer the route over `here` to its neighbours; those that take it go into `following`.

    2.30 prefers the nearer type, then more bandwidth, then fewer hops.
    """
    kind, speed, hops, trail = found[here]
    relays = kind == NVL and hops >= reach and wires.kinds[here] is NodeKind.DEV
    for target, step, most, back, passable in wires.out[here]:
        if passable and here != own and (passable == CLOSED or hops > reach):
            continue
        if relays and step == NVL:
            step = NVB
        if step < kind:
            step = kind
        if most > speed:
            most = speed
        old = found[target]
        if step < old.kind or (
            step == old.kind and (most > old.gb_per_s or (most == old.gb_per_s and hops + 1 < old.hops))
        ):
            found[target] = Route(step, most, hops + 1, (back, trail))
            following[target] = None
