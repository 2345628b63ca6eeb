# SPDX-License-Identifier: Apache-2.0
"""A cable slower than most of its kind (ports of one rail, uplinks of one tier), or below what both ends support."""

from collections.abc import Iterator

from railgauge.topo.fabric.model import Cable
from railgauge.topo.findings.cards.fabric import CABLE_SLOW
from railgauge.topo.findings.fabric.examined import ExaminedFabric, most
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    fabric = examined.fabric
    kinds: dict[object, list[Cable]] = {}
    for cable in fabric.cables:
        kinds.setdefault(_kind(examined, cable), []).append(cable)
    if fabric.cables and not any(cable.gb_per_s for cable in fabric.cables):
        yield RULE.unknown("fabric", "no speeds of cables in these files: give the output of iblinkinfo as well")
        return
    for cables in kinds.values():
        known = [cable for cable in cables if cable.gb_per_s]
        usual = most(cable.gb_per_s for cable in known)
        rate = most(cable.rate for cable in known) or ""
        better = most(cable.better for cable in cables)
        for cable in known:
            assert cable.gb_per_s is not None
            if usual is not None and cable.gb_per_s < usual:
                yield _slow(examined, cable, usual, f"others of its kind have {rate}")
            elif cable.better and cable.better != better:
                yield _slow(examined, cable, cable.gb_per_s, f"the ends support more: {cable.better}")


def _kind(examined: ExaminedFabric, cable: Cable) -> object:
    """What cables are compared with: those of one rail to nodes, those between two tiers of one network."""
    fabric = examined.fabric
    for end in cable.ends:
        if end in fabric.endpoint_at:
            rail = examined.rails.of_leaf.get(cable.other(end).device)
            return (rail.role, rail.number) if rail else None
    tiers = sorted(fabric.tier_of[end.device] for end in cable.ends if end.device in fabric.tier_of)
    return fabric.network_of.get(cable.ends[0].device), *tiers


def _slow(examined: ExaminedFabric, cable: Cable, usual: float, why: str) -> Finding:
    name = examined.fabric.cable_name(cable)
    lost = f"{usual:g} -> {cable.gb_per_s:g} GB/s through this cable" if usual != cable.gb_per_s else ""
    return RULE.finding(
        Level.FAIL,
        name,
        f"{name} runs at {cable.rate}; {why}",
        effect=lost,
        gb_per_s=cable.gb_per_s,
        usual_gb_per_s=usual,
    )


RULE = FileRule(card=CABLE_SLOW, check=_check)
