# SPDX-License-Identifier: Apache-2.0
"""A NIC on another leaf than its device and its node's other NICs say.

On each rail a node belongs to the leaf whose nodes are most often beside it on its other rails.
"""

from collections.abc import Iterator

from railgauge.topo.fabric.model import FabricEndpoint
from railgauge.topo.fabric.rails import base
from railgauge.topo.findings.cards.fabric import RAIL_MISWIRED
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    import numpy as np

    fabric, rails = examined.fabric, examined.rails.compute
    if not examined.rails.separate:
        return
    place_of = {device: place for place, rail in enumerate(rails) for device in rail.devices if rail.plane in (None, 0)}
    leaves = [leaf for rail in rails for leaf in rail.leaves]
    number = {leaf: place for place, leaf in enumerate(leaves)}
    names = sorted({one.node for leaf in leaves for one in fabric.on_leaf[leaf]})
    row = {name: place for place, name in enumerate(names)}
    there = np.zeros((len(names), len(leaves)), np.float32)
    endpoints = [one for leaf in leaves for one in fabric.on_leaf[leaf] if base(one) in place_of]
    for one in endpoints:
        there[row[one.node], number[fabric.leaf_of[one]]] = 1
    together = there.T @ there
    scores = there @ together
    for place, rail in enumerate(rails):
        ones = [one for one in endpoints if place_of[base(one)] == place]
        own = np.array([number[leaf] for leaf in rail.leaves])
        mine = np.array([row[one.node] for one in ones], np.int64)
        at = np.array([number[fabric.leaf_of[one]] for one in ones], np.int64)
        beside = scores[np.ix_(mine, own)] - together[np.ix_(at, own)]
        best = own[np.argmax(beside, axis=1)]
        itself = there[mine].sum(axis=1) - 1
        here = np.where(np.isin(at, own), scores[mine, at] - together[at, at] - itself, 0)
        for odd in np.flatnonzero((best != at) & (beside.max(axis=1) > np.maximum(here, 0))):
            yield _finding(examined, ones[odd], leaves[best[odd]], rail.name)


def _finding(examined: ExaminedFabric, one: FabricEndpoint, wanted: str, rail: str) -> Finding:
    fabric = examined.fabric
    far = fabric.cable_at[one.end].other(one.end)
    there, here = fabric.switches[wanted].name, fabric.end_name(far)
    return RULE.card.finding(
        Level.FAIL,
        one.name,
        f"{one.name} is cabled to {here}; it belongs to {there} ({rail})",
        host=one.node,
        evidence={"endpoint": one.name, "port": here, "belongs_to": there, "rail": rail},
    )


RULE = FileRule(card=RAIL_MISWIRED, check=_check)
