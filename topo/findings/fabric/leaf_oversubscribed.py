# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of a leaf to nodes over that to spines."""

from collections.abc import Iterable, Iterator

from railgauge.topo.fabric.model import End
from railgauge.topo.findings.cards.fabric import LEAF_OVERSUBSCRIBED
from railgauge.topo.findings.fabric.examined import ExaminedFabric, most
from railgauge.topo.findings.fabric.uplink_missing import groups
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level

SLACK = 1.05
"""Ratios within that count as 1:1."""


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    up, fabric = examined.uplinks, examined.fabric
    compute = [leaf for rail in examined.rails.compute for leaf in rail.leaves if up.get(leaf)]
    everywhere = most(round(_ratio(examined, leaf, up[leaf]), 3) for leaf in compute)
    for group in groups(examined):
        leaves = [key for key in group if key in fabric.on_leaf and up.get(key)]
        if not leaves:
            continue
        usual_up = most(len(up[key]) for key in leaves) or max(len(up[key]) for key in leaves)
        ratios = {key: _ratio(examined, key, up[key]) for key in leaves}
        usual = most(round(ratio, 3) for ratio in ratios.values()) or everywhere or max(ratios.values())
        odd = [
            key for key in leaves if ratios[key] > usual * SLACK and len(up[key]) >= usual_up and ratios[key] > SLACK
        ]
        for key in odd:
            name, ratio = fabric.switches[key].name, ratios[key]
            yield RULE.finding(
                Level.WARN,
                name,
                f"{name} has {ratio:.2g} times as much bandwidth to nodes as upward, others {usual:.2g} times",
                effect=f"a node gets {1 / ratio:.0%} of its speed across the spines when all send",
                ratio=round(ratio, 3),
                usual=round(usual, 3),
            )
        if usual > SLACK:
            names = [fabric.switches[key].name for key in leaves]
            few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            yield RULE.finding(
                Level.INFO,
                names[0],
                f"{few}: {usual:.2g} times as much bandwidth to nodes as upward",
                effect=f"a node gets {1 / usual:.0%} of its speed across the spines when all send",
                ratio=round(usual, 3),
                leaves=names,
            )


def _ratio(examined: ExaminedFabric, key: str, ports: Iterable[str]) -> float:
    """Downward over upward in GB/s, each cable at the speed of most: a slow one has a finding of its own."""
    fabric = examined.fabric
    below = [fabric.cable_at[one.end] for one in fabric.on_leaf[key]]
    above = [fabric.cable_at[End(key, port)] for port in ports]
    down, up = (most(cable.gb_per_s for cable in cables) for cables in (below, above))
    return len(below) / len(above) * (down / up if down and up else 1.0)


RULE = FileRule(card=LEAF_OVERSUBSCRIBED, check=_check)
