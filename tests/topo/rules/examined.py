# SPDX-License-Identifier: Apache-2.0
"""A fixture with changes, as machine.toml has them, and what one rule finds there."""

from pathlib import Path

from railgauge.topo.findings import Finding, Level
from railgauge.topo.machine import fixture_path, load_machine
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rules import RULES, check


def case(folder: Path, fixture: str, changes: str = "") -> Case:
    path = folder / "machine.toml"
    path.write_text(f'base = "{fixture_path(fixture)}"\n{changes}')
    return Case(load_machine(str(path)))


def findings(name: str, there: Case) -> list[Finding]:
    rule = next(rule for rule in RULES if rule.id == name)
    return list(check(there, [rule]))


def levels(name: str, there: Case) -> set[Level]:
    return {finding.level for finding in findings(name, there)}
