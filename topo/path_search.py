# SPDX-License-Identifier: Apache-2.0
"""Paths from every node to one, by NCCL's breadth-first relaxation (`ncclTopoSetPaths`, 2.30)."""

from dataclasses import dataclass

from railgauge.topo.model import LOCAL_GB_PER_S, Link, LinkKind, Node, NodeKind, System

LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS = range(12)  # PATH_TYPES by rank
LINK_TYPE = {
    LinkKind.LOC: LOC,
    LinkKind.NVL: NVL,
    LinkKind.C2C: C2C,
    LinkKind.PCI: PIX,
    LinkKind.SYS: SYS,
    LinkKind.NET: LOC,  # what counts is the way from the NIC on
    LinkKind.MEM: PHB,
}


@dataclass(frozen=True, slots=True)
class Route:
    """A way to a node: its type's rank, its bandwidth, and the links along it in order of travel."""

    kind: int
    gb_per_s: float
    links: tuple[Link, ...]


NOWHERE = Route(DIS, 0.0, ())


def routes_to(system: System, base: Node, parents: dict[str, str]) -> dict[str, Route]:
    """The route to `base` from every node that reaches it. `parents` maps a GPU to its DEV."""
    found = {base.id: Route(LOC, LOCAL_GB_PER_S, ())}
    frontier = [base.id]
    gate = _Gate(system, base, parents)
    while frontier:
        following: dict[str, None] = {}
        for here in frontier:
            for link in system.links_of(here):
                if not gate.lets(here, link, found[here]):
                    continue
                route = _extended(system, found[here], link, gate.reach)
                if route is not None and _better(route, found.get(link.target, NOWHERE)):
                    found[link.target] = route
                    following[link.target] = None
        frontier = list(following)
    return found


def _better(new: Route, old: Route) -> bool:
    """2.30 prefers the nearer type, then more bandwidth, then fewer hops."""
    return (new.kind, -new.gb_per_s, len(new.links)) < (old.kind, -old.gb_per_s, len(old.links))


def _extended(system: System, route: Route, link: Link, reach: int) -> Route | None:
    """The route of the node beyond `link`, which travels the link's reverse; None for a one-way link."""
    back = next((k for k in system.links_of(link.target) if k.target == link.source and k.kind is link.kind), None)
    if back is None:
        return None
    here, there = system.node(link.source).kind, system.node(link.target).kind
    kind = LINK_TYPE[link.kind]
    if here is NodeKind.PCI and there is NodeKind.PCI:
        kind = PXB
    if link.kind is LinkKind.PCI and NodeKind.CPU in (here, there):
        kind = PHB
    if here is NodeKind.DEV and route.kind == NVL and kind == NVL and len(route.links) + 1 > reach:
        kind = NVB
    return Route(max(route.kind, kind), min(route.gb_per_s, link.gb_per_s), (back, *route.links))


class _Gate:
    """Where a path may pass: through a DEV only to its own GPU, or over one further NVLink."""

    def __init__(self, system: System, base: Node, parents: dict[str, str]) -> None:
        self._kinds = {node.id: node.kind for node in system.nodes}
        self._own = parents.get(base.id, base.id)
        self.reach = 2 if base.kind is NodeKind.GPU else 1

    def lets(self, here: str, link: Link, route: Route) -> bool:
        """Whether a path to `here` may go on over `link`."""
        if here == self._own:
            return True
        if self._kinds[here] in (NodeKind.NET, NodeKind.HOST):
            return False  # an end, never a way
        if self._kinds[here] is not NodeKind.DEV:
            return True
        there = self._kinds[link.target]
        if link.kind is LinkKind.LOC and there is NodeKind.GPU:
            return True
        return link.kind is LinkKind.NVL and there is NodeKind.DEV and len(route.links) <= self.reach
