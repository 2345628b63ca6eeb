# SPDX-License-Identifier: Apache-2.0
"""The node that a gate judges: options that all gates share, and its findings."""

import os
from dataclasses import dataclass

import typer

from railgauge.cli.findings_output import FailOn, Only, Skip
from railgauge.cli.findings_status import FOUND, error_lines
from railgauge.cli.machine_options import From, SaveCapture, open_machine
from railgauge.cli.streams import tell
from railgauge.topo.errors import INTERNAL, UnavailableError, UsageError, described
from railgauge.topo.findings.finding import Finding, Level, at_or_above, kept_from_answer

__all__ = ["FailOn", "From", "GateAnswer", "Only", "SaveCapture", "Skip", "judge", "leave_closed"]


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """A node's findings, worst first, and those of them at which the gate closes. error: what ended the check, so that
    nothing is known of the node.
    """

    host: str
    findings: tuple[Finding, ...]
    counted: tuple[Finding, ...]
    error: Exception | None = None

    @property
    def unknown(self) -> str:
        """Why it is unknown whether the node is good; "" where it is known to be good or broken."""
        from railgauge.topo.render.verdict import verdict_of

        if self.counted or verdict_of(self.findings) is not Level.UNKNOWN:
            return ""
        if self.error:
            return described(self.error)
        failed = kept_from_answer(self.findings)
        return f"{failed[0].id}: {failed[0].message}" if failed else "nothing could be checked"


def judge(
    source: list[str] | None, only: list[str] | None, skip: list[str] | None, fail_on: Level, save: str | None = None
) -> GateAnswer:
    """Check the node as `railgauge check` does, and print errors of railgauge itself on stderr; `save`: a capture that
    is written first. There is an answer in any case but that of a wrong option: a scheduler must not go on with the
    last one.
    """
    from railgauge.topo.findings.node.rules import check, chosen

    rules = chosen(only or (), skip or (), 1)
    try:
        machine = open_machine(source, save=save, tolerant=True)
        findings = check(machine, rules)
    except UsageError:
        raise
    except Exception as error:
        return GateAnswer("" if source else os.uname().nodename, (), (), error)
    for line in error_lines(findings):
        tell(f"railgauge: {line}")
    return GateAnswer(machine.host, findings, at_or_above(findings, fail_on))


def leave_closed(answer: GateAnswer) -> None:
    """Exit with 1 where the node is broken, 70 where an error of railgauge itself kept a rule from its answer, and 3
    where nothing could be checked; raise what ended the check.
    """
    if answer.error:
        raise answer.error
    if answer.counted:
        raise typer.Exit(FOUND)
    if kept_from_answer(answer.findings):
        raise typer.Exit(INTERNAL)
    if answer.unknown:
        raise UnavailableError(answer.unknown)
