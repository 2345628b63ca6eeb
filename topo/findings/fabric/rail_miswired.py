# SPDX-License-Identifier: Apache-2.0
"""A NIC on another leaf than its device and its node's other NICs say.

On each rail a node belongs to the leaf whose nodes are most often beside it on its other rails.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from railgauge.topo.fabric.model import FabricEndpoint
from railgauge.topo.fabric.rails import base
from railgauge.topo.findings.cards.fabric import RAIL_MISWIRED
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.number import natural

NEAR = 2
"""Neighbours by name on either side that are asked."""


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    import numpy as np

    fabric, rails = examined.fabric, examined.rails.compute
    if not examined.rails.separate:
        yield RULE.unknown(
            "fabric", "no rails: the compute NICs of a node share their leaves, so none has one of its own"
        )
        return
    place_of = {device: place for place, rail in enumerate(rails) for device in rail.devices if rail.plane in (None, 0)}
    leaves = [leaf for rail in rails for leaf in rail.leaves]
    number = {leaf: place for place, leaf in enumerate(leaves)}
    names = sorted({one.node for leaf in leaves for one in fabric.on_leaf[leaf]})
    row = {name: place for place, name in enumerate(names)}
    there = np.zeros((len(names), len(leaves)), np.float32)
    of_place: list[list[FabricEndpoint]] = [[] for _ in rails]
    for one in (one for leaf in leaves for one in fabric.on_leaf[leaf] if base(one) in place_of):
        there[row[one.node], number[fabric.leaf_of[one]]] = 1
        of_place[place_of[base(one)]].append(one)
    doubtful: list[_Place] = []
    together = there.T @ there
    scores = there @ together
    for rail, ones in zip(rails, of_place, strict=True):
        own = np.array([number[leaf] for leaf in rail.leaves])
        mine = np.array([row[one.node] for one in ones], np.int64)
        at = np.array([number[fabric.leaf_of[one]] for one in ones], np.int64)
        beside = scores[np.ix_(mine, own)] - together[np.ix_(at, own)]
        best = own[np.argmax(beside, axis=1)]
        itself = there[mine].sum(axis=1) - 1
        here = np.where(np.isin(at, own), scores[mine, at] - together[at, at] - itself, 0)
        for odd in np.flatnonzero((best != at) & (beside.max(axis=1) > np.maximum(here, 0))):
            doubtful.append(_Place(ones[odd], leaves[best[odd]], rail.name, at[odd] not in own))
    yield from (_finding(examined, place) for place in _sure(examined, doubtful))


class _Place(NamedTuple):
    """An endpoint that belongs to another leaf; other_rail: it is on one of another rail."""

    one: FabricEndpoint
    leaf: str
    rail: str
    other_rail: bool


def _sure(examined: ExaminedFabric, places: Sequence[_Place]) -> list[_Place]:
    """Where half of a node's ports contradict the other half, those that its neighbours by name contradict as well.

    Where these are even, one that has changed places with another.
    """
    leaves_at, fabric = examined.leaves_at, examined.fabric
    count = Counter(place.one.node for place in places if not place.other_rail)
    odd = {place.one.node for place in places}
    names = sorted({node for node, _ in leaves_at} | odd, key=natural)
    number = {name: at for at, name in enumerate(names)}
    rails = [rail.name for rail in examined.rails.compute]
    sure: list[_Place] = []
    even: list[_Place] = []
    for place in places:
        node, here = place.one.node, fabric.leaf_of[place.one]
        if place.other_rail or count[node] * 2 <= len([one for one in fabric.nodes[node] if one in fabric.leaf_of]):
            sure.append(place)
            continue
        beside = names[max(0, number[node] - NEAR) : number[node] + NEAR + 1]
        there = Counter(leaves_at.get((name, rails.index(place.rail))) for name in beside if name not in odd)
        if there[place.leaf] >= there[here]:
            (sure if there[place.leaf] > there[here] else even).append(place)
    swapped = {(place.leaf, fabric.leaf_of[place.one]) for place in sure}
    return [*sure, *(place for place in even if (fabric.leaf_of[place.one], place.leaf) in swapped)]


def _finding(examined: ExaminedFabric, place: _Place) -> Finding:
    fabric, one = examined.fabric, place.one
    far = fabric.cable_at[one.end].other(one.end)
    there, here = fabric.switches[place.leaf].name, fabric.end_name(far)
    return RULE.card.finding(
        Level.FAIL,
        one.name,
        f"{one.name} is cabled to {here}; it belongs to {there} ({place.rail})",
        host=one.node,
        evidence={"endpoint": one.name, "port": here, "belongs_to": there, "rail": place.rail},
    )


RULE = FileRule(card=RAIL_MISWIRED, check=_check)
