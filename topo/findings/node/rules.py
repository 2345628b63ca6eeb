# SPDX-License-Identifier: Apache-2.0
"""All rules about machines, and how they are run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.card import cards
from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, examine
from railgauge.topo.values.near import did_you_mean

RULES = found_in("railgauge.topo.findings.node", Rule)
SHOWN = (Level.FAIL, Level.WARN, Level.INFO, Level.UNKNOWN, Level.PASS)


def check(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What the rules find, the worst first, each level in the order of the rules."""
    found = [_placed(finding, case) for rule in rules for finding in examine(rule, case)]
    return tuple(sorted(found, key=lambda finding: SHOWN.index(finding.level)))


def _placed(finding: Finding, case: Case) -> Finding:
    """With the host's name, and with the file of a line; a scanned machine has no lines."""
    examined = case.machine.topology.path if case.reader is None and finding.line is not None else None
    path = finding.path or examined
    return replace(finding, host=case.host, path=path, line=finding.line if path else None)


def chosen(only: Collection[str], skip: Collection[str], cost: int) -> tuple[Rule, ...]:
    """The rules of up to a cost, by id; see `selected`."""
    wanted = selected([rule.id for rule in RULES], only, skip)
    return tuple(rule for rule in RULES if rule.id in wanted and (only or rule.cost <= cost))


def selected(known: Sequence[str], only: Collection[str], skip: Collection[str]) -> tuple[str, ...]:
    """The requested ids, among those of a command.

    UsageError for a requested id that is not the command's; ids of other commands may be skipped.
    """
    unknown = sorted({*only, *(one for one in skip if one not in cards())} - set(known))
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise UsageError(f"not checked by this command: {', '.join(unknown)}{near}; use one of: {', '.join(known)}")
    return tuple(one for one in known if one not in skip and (not only or one in only))
