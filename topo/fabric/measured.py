# SPDX-License-Identifier: Apache-2.0
"""What a prediction needs of a fabric: how NICs are wired to leaves, nodes below a leaf, tiers, oversubscription."""

from dataclasses import dataclass
from statistics import median

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.places import find_places
from railgauge.topo.fabric.rails import FabricRails


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricShape:
    """rails: whether each NIC of a node has its own leaves. oversubscription: the highest of a leaf, at least 1;
    1 for a tree without cables.
    """

    rails: bool
    nodes_per_leaf: int
    tiers: int
    oversubscription: float


def shape_of(fabric: FabricMap, rails: FabricRails) -> FabricShape:
    """The shape of the part that compute NICs are on. InputError if no node is on it."""
    blocks = find_places(fabric, rails).blocks
    if not blocks:
        raise InputError("no node is cabled to a switch in these files")
    leaves = {leaf for block in blocks for leaf in block.leaves}
    down = {leaf: sum(fabric.cable_at[one.end].gb_per_s or 1.0 for one in fabric.on_leaf[leaf]) for leaf in leaves}
    up = dict.fromkeys(leaves, 0.0)
    for cable in fabric.trunks:
        for end in cable.ends:
            if end.device in up:
                up[end.device] += cable.gb_per_s or 1.0
    return FabricShape(
        rails=rails.separate,
        nodes_per_leaf=max(1, round(median(len(block.nodes) for block in blocks))),
        tiers=1 + max(fabric.tier_of[key] for key in fabric.switches),
        oversubscription=max([1.0, *(down[leaf] / up[leaf] for leaf in leaves if up[leaf] and not fabric.is_tree)]),
    )
