# SPDX-License-Identifier: Apache-2.0
"""All rules about machines, and how they are run."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.topo.findings.detectors import EXPLAIN, found_in, selected
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.baseline import Baseline, SinceBaseline
from railgauge.topo.findings.node.consequences import with_causes
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import ComparisonRule, Rule, at_cost, examine
from railgauge.topo.machine import Machine

RULES: tuple[Rule | ComparisonRule, ...] = found_in("railgauge.topo.findings.node", Rule, ComparisonRule)
SHOWN = (Level.FAIL, Level.WARN, Level.INFO, Level.UNKNOWN, Level.PASS)


def check(
    machine: Machine, rules: Sequence[Rule | ComparisonRule] = RULES, baseline: Baseline | None = None
) -> tuple[Finding, ...]:
    """What the rules find, the worst first, each level in the order of the rules."""
    since = SinceBaseline(machine=machine, baseline=baseline) if baseline else None
    found = with_causes([_placed(finding, machine) for rule in rules for finding in examine(rule, machine, since)])
    return tuple(sorted(found, key=lambda finding: SHOWN.index(finding.level)))


def repairs(machine: Machine) -> tuple[Repair, ...]:
    """What would undo the faults of a machine that have a price, by the rules that concern it."""
    concerned = [rule for rule in RULES if isinstance(rule, Rule) and rule.concerns(machine)]
    return tuple(replace(repair, id=rule.id) for rule in concerned for repair in rule.repairs(machine))


def _placed(finding: Finding, machine: Machine) -> Finding:
    """With the host's name, and with the file of a line; a scanned machine has no lines."""
    examined = machine.topology.path if machine.reader is None and finding.line is not None else None
    path = finding.path or examined
    return replace(finding, host=machine.host, path=path, line=finding.line if path else None)


def chosen(
    only: Iterable[str], skip: Iterable[str], cost: int, listed: str = EXPLAIN
) -> tuple[Rule | ComparisonRule, ...]:
    """The rules by id, with their checks at a cost; see `selected`."""
    wanted = selected([rule.id for rule in RULES], only, skip, listed)
    return tuple(at_cost(rule, cost) for rule in RULES if rule.id in wanted)
