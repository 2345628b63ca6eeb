# SPDX-License-Identifier: Apache-2.0
"""All rules about machines, and how they are run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from railgauge.topo.errors import UsageError
from railgauge.topo.findings import LEVELS, Finding
from railgauge.topo.rules import ib_port_down, vm_flat_topology
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Rule, examine

RULES: tuple[Rule, ...] = (
    vm_flat_topology.RULE,
    ib_port_down.RULE,
)


def check(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What the rules find, the worst first, each level in the order of the rules."""
    found = [replace(finding, host=case.host) for rule in rules for finding in examine(rule, case)]
    return tuple(sorted(found, key=lambda finding: -LEVELS.index(finding.level)))


def chosen(only: Collection[str], skip: Collection[str], cost: int) -> tuple[Rule, ...]:
    """The rules of up to a cost, by id; UsageError for an id that there is not."""
    known = [rule.id for rule in RULES]
    unknown = sorted({*only, *skip} - set(known))
    if unknown:
        raise UsageError(f"there is no rule {', '.join(unknown)}; there are: {', '.join(known)}")
    return tuple(rule for rule in RULES if rule.id not in skip and (rule.id in only if only else rule.cost <= cost))
