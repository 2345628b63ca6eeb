# SPDX-License-Identifier: Apache-2.0
"""All routes between the nodes of a System, first by the physical links, then with the changes of reroute.py."""

from itertools import permutations

from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.paths.path_search import C2C, DIS, NOWHERE, P2C, PHB, Route, Wires, routes_to

BASES = (NodeKind.GPU, NodeKind.HOST, NodeKind.CPU, NodeKind.NET, NodeKind.NVS)  # ends of routes


class RouteTable:
    """Routes by source and target. Replaced routes are kept: in `wired` by the physical links, in `detoured` by the
    CPU.

    `relays` names the GPU that relays a PXN route.
    """

    def __init__(self, system: System, *, nvb: bool) -> None:
        wires = Wires(system, nvb=nvb)
        self.gpus, self.nets, self.cpus = system.gpus, system.nets, system.kind(NodeKind.CPU)
        self.cards = system.kind(NodeKind.DEV)
        self.relays: dict[tuple[str, str], Node] = {}
        self._ends = {NodeKind.GPU: self.gpus, NodeKind.NET: system.listed_nets}
        self._wires = wires
        self._at = wires.at
        self._card = {gpu.id: system.nodes[wires.card(wires.at[gpu.id])].id for gpu in self.gpus}
        self._to = {node.id: routes_to(wires, wires.at[node.id]) for node in system.nodes if node.kind in BASES}
        self._wired: dict[tuple[str, str], Route] = {}
        self._detoured: dict[tuple[str, str], Route] = {}
        self._near: dict[tuple[str, NodeKind], list[Node]] = {}

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._at

    def find(self, source: str, target: str) -> Route:
        """The route between two ids; NOWHERE if there is none."""
        routes, at = self._to.get(target), self._at.get(source)
        return NOWHERE if routes is None or at is None else routes[at]

    def route(self, source: Node, target: Node) -> Route:
        """The route between two nodes; NOWHERE if there is none."""
        return self._to[target.id][self._at[source.id]]

    def wired(self, source: Node, target: Node) -> Route:
        """The route by the physical links."""
        return self._wired.get((source.id, target.id)) or self.find(source.id, target.id)

    def undetoured(self, source: Node, target: Node) -> Route:
        """The route before it was sent through a CPU."""
        return self._detoured.get((source.id, target.id)) or self.find(source.id, target.id)

    def change(self, source: Node, target: Node, route: Route) -> None:
        """Replace a route."""
        routes, at = self._to[target.id], self._at[source.id]
        self._wired.setdefault((source.id, target.id), routes[at])
        routes[at] = route
        self._near.pop((source.id, target.kind), None)

    def detour(self, source: Node, cpu: Node, target: Node) -> None:
        """Send a route through a CPU."""
        self._detoured[source.id, target.id] = self.route(source, target)
        self.change(source, target, self.over(source, cpu, target))

    def over(self, source: Node, relay: Node, target: Node) -> Route:
        """The route over a relay (`addInterStep`)."""
        first, second = self.route(source, relay), self.route(relay, target)
        trail = second.trail
        for link in reversed(first.links):
            trail = (link, trail)
        kind, speed = merged_kind(first.kind, second.kind), min(first.gb_per_s, second.gb_per_s)
        return Route(kind, speed, first.hops + second.hops, trail)

    def between_cards(self) -> float:
        """GB/s of the fastest route from a card to another; 0 for fewer than two."""
        at = [self._at[card.id] for card in self.cards]
        found = {other: routes_to(self._wires, other) for other in at}
        return max((found[other][one].gb_per_s for one, other in permutations(at, 2)), default=0.0)

    def same_card(self, one: Node, other: Node) -> bool:
        """Whether two GPU nodes are ranks on one GPU."""
        return self._card[one.id] == self._card[other.id]

    def gpu_on(self, card: str) -> Node | None:
        """The first GPU node of a card; None if none is left."""
        return next((gpu for gpu in self.gpus if self._card[gpu.id] == card), None)

    def nearest(self, node: Node, kind: NodeKind) -> list[Node]:
        """The GPUs or NETs with the most bandwidth from `node`, of the nearest type among them (`ncclTopoGetLocal`).

        A NET as often as the topology lists it.
        """
        key = (node.id, kind)
        if key not in self._near:
            self._near[key] = self._find_nearest(node, self._ends[kind])
        return self._near[key]

    def _find_nearest(self, node: Node, others: tuple[Node, ...]) -> list[Node]:
        best, nearest, found = 0.0, DIS, list[Node]()
        for other in others:
            route = self.route(node, other)
            if route.gb_per_s > best or (route.gb_per_s == best and route.kind < nearest):
                best, nearest, found = route.gb_per_s, route.kind, []
            if route.gb_per_s == best and route.kind == nearest:
                found.append(other)
        return found


def merged_kind(one: int, other: int) -> int:
    """The type of two routes end to end: the further one, but PHB after C2C counts P2C (`mergePathType`)."""
    return P2C if {one, other} == {PHB, C2C} else max(one, other)
