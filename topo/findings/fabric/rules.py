# SPDX-License-Identifier: Apache-2.0
"""The findings of a fabric."""

from collections.abc import Collection

from railgauge.topo.findings.cards.fabric import EXPECTED_DIFFERS
from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level

RULES: tuple[FileRule[ExaminedFabric], ...] = found_in("railgauge.topo.findings.fabric", FileRule)
SUBJECT = "fabric"


def findings(examined: ExaminedFabric, only: Collection[str] | None = None) -> list[Finding]:
    """What the rules find, those of `only` or all; PASS or UNKNOWN for one that finds nothing."""
    found: list[Finding] = []
    for rule in RULES:
        if (only is not None and rule.id not in only) or (rule.id == EXPECTED_DIFFERS.id and examined.against is None):
            continue
        if examined.fabric.is_tree:
            found.append(rule.unknown(SUBJECT, "a tree of a scheduler or cloud has no cables"))
            continue
        found += rule.find(examined, SUBJECT) or [_sound(rule, examined)]
    return found


def _sound(rule: FileRule[ExaminedFabric], examined: ExaminedFabric) -> Finding:
    """PASS, or UNKNOWN where a part of the fabric was not seen."""
    if cut_off := examined.fabric.cut_off:
        return rule.unknown(SUBJECT, cut_off)
    return rule.finding(Level.PASS, SUBJECT, rule.card.passes, fix=False)
