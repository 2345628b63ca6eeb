# SPDX-License-Identifier: Apache-2.0
"""A fabric that files describe, as a prediction takes it."""

from collections.abc import Sequence

from railgauge.topo.fabric.job_cables import JobCables
from railgauge.topo.fabric.measured import shape_of
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.predict.fabric import HOP_US, FabricKind, KnownFabric


def known_fabric(fabric: FabricMap, nodes: Sequence[str] = (), *, hop_us: float = HOP_US) -> KnownFabric:
    """Its shape, and which cable limits a job over these nodes, or over its first ones. InputError: it has no nodes."""
    rails = find_rails(fabric)
    shape, cables = shape_of(fabric, rails), JobCables(fabric, rails, nodes)
    return KnownFabric(
        kind=FabricKind.FLAT if shape.tiers == 1 else FabricKind.RAIL if shape.rails else FabricKind.FAT_TREE,
        oversubscription=shape.oversubscription,
        hop_us=hop_us,
        per_leaf=shape.nodes_per_leaf,
        tiers=shape.tiers,
        cable_of=cables.limiting,
        pair_cable_of=cables.limiting_pairs,
    )
