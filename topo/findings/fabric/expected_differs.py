# SPDX-License-Identifier: Apache-2.0
"""A fabric beside an earlier or planned description: cables gone, new, moved, slower."""

from collections.abc import Iterator

from railgauge.topo.fabric.model import Cable, FabricMap
from railgauge.topo.findings.cards.fabric import EXPECTED_DIFFERS
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    assert examined.against is not None
    now, before = _ends(examined.fabric), _ends(examined.against)
    done: set[frozenset[str]] = set()
    for name in sorted({*now, *before}):
        new, old = now.get(name), before.get(name)
        pair = frozenset((name, *([new[0]] if new else []), *([old[0]] if old else [])))
        if (new and old and new[0] == old[0] and not _slower(new[1], old[1])) or pair in done:
            continue
        done.add(pair)
        if new and old and new[0] == old[0]:
            done.add(frozenset((name, new[0])))
            yield _finding(name, f"{name} - {new[0]} runs at {new[1].rate}, was {old[1].rate}", "slower")
        elif new and old:
            yield _finding(name, f"{name} is cabled to {new[0]}, was to {old[0]}", "moved")
        elif old and old[0] not in now:
            yield _finding(name, f"{name} - {old[0]} is gone", "gone")
        elif new and new[0] not in before:
            yield _finding(name, f"{name} - {new[0]} is new", "new")


def _ends(fabric: FabricMap) -> dict[str, tuple[str, Cable]]:
    """What is across from each end, by name, and the cable."""
    return {
        fabric.end_name(end): (fabric.end_name(cable.other(end)), cable)
        for cable in fabric.cables
        for end in cable.ends
    }


def _slower(now: Cable, before: Cable) -> bool:
    return bool(now.gb_per_s and before.gb_per_s and now.gb_per_s < before.gb_per_s)


def _finding(name: str, message: str, change: str) -> Finding:
    return RULE.finding(Level.WARN, name, message, change=change)


RULE = FileRule(card=EXPECTED_DIFFERS, check=_check)
