# SPDX-License-Identifier: Apache-2.0
"""The node that a gate judges: options that all gates share, and its findings."""

from dataclasses import dataclass

from railgauge.cli.findings_output import FailOn, Only, Skip
from railgauge.cli.machine_options import From, SaveCapture, open_machine
from railgauge.topo.findings.finding import Finding, Level, at_or_above

__all__ = ["FailOn", "From", "GateAnswer", "Only", "SaveCapture", "Skip", "judge"]


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """A node's findings, worst first, and those of them at which the gate closes."""

    host: str
    findings: tuple[Finding, ...]
    counted: tuple[Finding, ...]


def judge(
    source: list[str] | None, only: list[str] | None, skip: list[str] | None, fail_on: Level, save: str | None = None
) -> GateAnswer:
    """Check the node as `railgauge check` does; `save`: a capture that is written first."""
    from railgauge.topo.findings.node.rules import check, chosen

    rules = chosen(only or (), skip or (), 1)
    machine = open_machine(source, save=save, tolerant=True)
    findings = check(machine, rules)
    return GateAnswer(machine.host, findings, at_or_above(findings, fail_on))
