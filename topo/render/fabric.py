# SPDX-License-Identifier: Apache-2.0
"""A fabric as text and as the document railgauge/fabric/1."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.places import find_places
from railgauge.topo.fabric.rails import FabricRails, Rail, rail_of
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.wrapping import fitting
from railgauge.topo.values.node_names import folded

MOST_ROWS = 24
"""Rows of a table; more are counted."""


def fabric_lines(fabric: FabricMap, rails: FabricRails) -> Iterator[Line]:
    """What there is, the rails, the switches by tier, the nodes by leaves."""
    tiers = max(fabric.tier_of.values(), default=-1) + 1
    ports = len(fabric.endpoints)
    yield line(
        f"{_count(len(fabric.switches), 'switch', 'switches')} in {_count(tiers, 'tier')}, "
        f"{_count(ports, 'port')} of {_count(len(fabric.nodes), 'node')}, {_count(len(fabric.cables), 'cable')}",
        Ink.HEADING,
    )
    if fabric.unlisted:
        few = ", ".join(fabric.unlisted[:3])
        yield line(f"named by others, without a record of their own (is the file cut off?): {few}", Ink.WARNING)
    yield line("")
    yield from rail_table(fabric, rails)
    yield line("")
    yield from _table(["tier", "switches", "each with"], _tier_rows(fabric))
    blocks = find_places(fabric, rails).blocks
    if blocks:
        yield line("")
        names = [(folded(block.nodes), folded(fabric.switches[leaf].name for leaf in block.leaves)) for block in blocks]
        yield from _table(["nodes", "on leaves"], [list(row) for row in names])


def rail_table(fabric: FabricMap, rails: FabricRails) -> Iterator[Line]:
    """A row for each rail."""
    rows = [_rail_row(fabric, one) for one in rails.rails]
    yield from _table(["rail", "for", "NIC", "a port", "leaves", "nodes"], rows)


def _count(number: int, what: str, many: str = "") -> str:
    return f"{number} {what if number == 1 else many or what + 's'}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    lines = fitting([head, *rows[:MOST_ROWS]], None)
    yield line(lines[0], Ink.QUIET)
    yield from map(line, lines[1:])
    if len(rows) > MOST_ROWS:
        yield line(f"... and {len(rows) - MOST_ROWS} more (--json has all)", Ink.QUIET)


def _rail_row(fabric: FabricMap, rail: Rail) -> list[str]:
    ones = [one for leaf in rail.leaves for one in fabric.on_leaf[leaf]]
    rates = Counter(fabric.cable_at[one.end].rate for one in ones)
    rate = rates.most_common(1)[0][0]
    speed = f"{rail.gb_per_s:g} GB/s ({rate})" if rail.gb_per_s else rate
    leaves = folded(fabric.switches[leaf].name for leaf in rail.leaves)
    return [rail.name, str(rail.role), " ".join(rail.devices), speed, leaves, folded(one.node for one in ones)]


def _tier_rows(fabric: FabricMap) -> list[list[str]]:
    """Switches with equal numbers of cables down, across and up, in one row."""
    cables: dict[str, Counter[str]] = {key: Counter() for key in fabric.switches}
    for cable in fabric.cables:
        for end in cable.ends:
            other = cable.other(end).device
            if end.device in cables:
                below = fabric.tier_of.get(other, -1) - fabric.tier_of[end.device]
                cables[end.device]["up" if below > 0 else "across" if below == 0 else "down"] += 1
    alike: dict[tuple[int, str], list[str]] = {}
    for key, counts in cables.items():
        parts = [f"{counts[way]} {way}" for way in ("down", "across", "up") if counts[way]]
        alike.setdefault((fabric.tier_of[key], ", ".join(parts) or "no cable"), []).append(key)
    return [
        [str(tier), folded(fabric.switches[key].name for key in keys), f"cables: {what}"]
        for (tier, what), keys in sorted(alike.items(), key=lambda row: (-row[0][0], row[0][1]))
    ]


def fabric_document(fabric: FabricMap, rails: FabricRails) -> dict[str, Any]:
    """What the document holds beside its head."""
    return {
        "sources": list(fabric.sources),
        "tiers": max(fabric.tier_of.values(), default=-1) + 1,
        "rails": [rail_record(fabric, rail) for rail in rails.rails],
        "switches": [
            {
                "key": key,
                "name": one.name,
                "tier": fabric.tier_of[key],
                "rail": rails.of_leaf[key].name if key in rails.of_leaf else None,
                "ports": one.ports or None,
                "lid": one.lid,
            }
            for key, one in fabric.switches.items()
        ],
        "endpoints": [
            {
                "node": one.node,
                "device": one.device,
                "key": one.key,
                "port": one.port,
                "address": one.address or None,
                "lid": one.lid,
                "captured": one.captured,
                "leaf": fabric.leaf_of.get(one),
                "rail": found.name if (found := rail_of(fabric, rails, one)) else None,
            }
            for one in fabric.endpoints
        ],
        "cables": [
            {
                "from": cable.ends[0].device,
                "from_port": cable.ends[0].port,
                "to": cable.ends[1].device,
                "to_port": cable.ends[1].port,
                "gb_per_s": cable.gb_per_s,
                "width": cable.width,
                "speed": cable.speed or None,
                "state": cable.state or None,
            }
            for cable in fabric.cables
        ],
        "warnings": list(fabric.warnings),
    }


def rail_record(fabric: FabricMap, rail: Rail) -> dict[str, Any]:
    """A rail in a document."""
    return {
        "name": rail.name,
        "number": rail.number,
        "plane": rail.plane,
        "role": str(rail.role),
        "devices": list(rail.devices),
        "leaves": [fabric.switches[leaf].name for leaf in rail.leaves],
        "gb_per_s": rail.gb_per_s,
    }
