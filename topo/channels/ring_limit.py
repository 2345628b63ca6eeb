# SPDX-License-Identifier: Apache-2.0
"""A quick limit on the rings over the GPUs of a System, to decide which of many subsets deserve a search.

Every ring leaves and enters each GPU, and crosses each cut between the GPUs. Only cuts of a single link are tried; the
search itself proves tighter bounds.
"""

from collections.abc import Iterable, Mapping
from itertools import permutations, product
from typing import NamedTuple

from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, System
from railgauge.topo.nccl.paths.overhead import taken
from railgauge.topo.nccl.paths.paths import Paths

UNLIMITED = float("inf")


class RingRoute(NamedTuple):
    """A route: its first and last link (None without one), and the GB/s that a ring could have on each link."""

    first: Link | None
    last: Link | None
    room: Mapping[Link, float]
    gb_per_s: float


RingRoutes = Mapping[tuple[str, str], RingRoute]


def ring_limit(system: System, table: Paths, nodes: int) -> float:
    """GB/s that all rings over the GPUs together cannot exceed, alone (`nodes` 1) or as one of several nodes."""
    gpus, nets = system.gpus, system.nets if nodes > 1 else ()
    if len(gpus) < 2 and nodes == 1:
        return UNLIMITED
    inside = _ways(system, table, permutations(gpus, 2))
    outward, inward = _ways(system, table, product(gpus, nets)), _ways(system, table, product(nets, gpus))
    limits = [_cut(frozenset(gpu.id for gpu in gpus), inside, alone=nodes == 1)]
    for gpu in gpus:
        limits.append(_carried(way for (a, _), way in (*inside.items(), *outward.items()) if a == gpu.id)[0])
        limits.append(_carried(way for (_, b), way in (*inside.items(), *inward.items()) if b == gpu.id)[1])
    if nodes > 1:
        limits += [*_carried(outward.values()), *_carried(inward.values())]
    return min(limits)


def _ways(system: System, table: Paths, ends: Iterable[tuple[Node, Node]]) -> RingRoutes:
    return {(a.id, b.id): _way(system, table, a, b) for a, b in ends}


def _way(system: System, table: Paths, source: Node, target: Node) -> RingRoute:
    path = table.get(source.id, target.id)
    room = {link: link.real_gb_per_s / share for link, share in taken(system, source, path).items()}
    wires = [link for link in path.links if link.kind is not LinkKind.LOC]
    if not wires:
        return RingRoute(None, None, room, 0.0 if path.type == "DIS" else UNLIMITED)
    return RingRoute(wires[0], wires[-1], room, min(room.values()))


def _carried(ways: Iterable[RingRoute]) -> tuple[float, float]:
    """GB/s of all routes together, by their first links and by their last: routes share links."""
    both = list(ways)
    return _through((way.first, way) for way in both), _through((way.last, way) for way in both)


def _through(ends: Iterable[tuple[Link | None, RingRoute]]) -> float:
    room: dict[Link | None, tuple[float, float]] = {}
    for wire, way in ends:
        most, total = room.get(wire, (0.0, 0.0))
        speed = way.room[wire] if wire else way.gb_per_s
        room[wire] = max(most, speed), total + way.gb_per_s
    return sum(min(pair) for pair in room.values())


def _cut(everything: frozenset[str], inside: RingRoutes, *, alone: bool) -> float:
    """The least of the links that alone lead from some GPUs to all others.

    As one of several nodes a channel is no closed ring: it crosses a cut in one of the two directions.
    """
    cuts: dict[frozenset[str], float] = {}
    for link, (speed, reached) in _crossings(inside).items():
        side = frozenset(reached)
        if link.kind is not LinkKind.LOC and side != everything and all(everything - side <= reached[a] for a in side):
            cuts[side] = min(speed, cuts.get(side, UNLIMITED))
    if alone:
        return min(cuts.values(), default=UNLIMITED)
    both = (speed + cuts[everything - side] for side, speed in cuts.items() if everything - side in cuts)
    return min(both, default=UNLIMITED)


def _crossings(inside: RingRoutes) -> dict[Link, tuple[float, dict[str, set[str]]]]:
    """For each link the most GB/s that a ring could have on it, and the GPUs that each source reaches over it."""
    crossed: dict[Link, tuple[float, dict[str, set[str]]]] = {}
    for (a, b), way in inside.items():
        for link, speed in way.room.items():
            known, reached = crossed.get(link, (0.0, {}))
            reached.setdefault(a, set()).add(b)
            crossed[link] = max(known, speed), reached
    return crossed
