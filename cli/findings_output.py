# SPDX-License-Identifier: Apache-2.0
"""Prints findings as text, one per line with effect and remedy below it, and turns them into an exit status."""

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

import typer

from railgauge.topo.errors import INTERNAL
from railgauge.topo.findings.finding import ORDER, Finding, Level, at_or_above
from railgauge.topo.values.printable import inline

LEVELS = (Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN)


def _level(text: str) -> Level:
    try:
        return Level(text.upper())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(LEVELS)}") from None


FailOn = Annotated[
    Level, typer.Option("--fail-on", metavar="LEVEL", parser=_level, help="Exit with status 1 at this level or worse.")
]
STYLE = {
    Level.FAIL: "bold red",
    Level.WARN: "yellow",
    Level.INFO: "cyan",
    Level.PASS: "green",
    Level.UNKNOWN: "magenta",
}
SHOWN = (*reversed(ORDER), Level.UNKNOWN)
FEW = 4  # findings of one rule shown for a whole machine
FOUND = 1  # exit status: findings at or above --fail-on


def leave_if_failed(findings: Sequence[Finding]) -> None:
    """Exit with 70 and print the errors on stderr if rules crashed; the answer of the other rules stands."""
    if errors := [one for one in findings if one.error]:
        for one in errors:
            where = f" on {one.host}" if one.host else ""
            print(f"railgauge: {one.id}{where}: {one.message}", file=sys.stderr)
        sys.stdout.flush()
        raise typer.Exit(INTERNAL)


def leave_with(findings: Sequence[Finding], fail_on: Level) -> None:
    """Exit with 70 if a rule crashed, else with 1 if a finding is at `fail_on` or worse."""
    leave_if_failed(findings)
    if at_or_above(findings, fail_on):
        raise typer.Exit(FOUND)


def print_findings(findings: Sequence[Finding], most: int | None = None) -> None:
    """Print the findings in order, at most `most`, and a line that counts all; in colour on a terminal.

    Effect and remedy are printed once if several findings share them.
    """
    _tell(findings[:most])
    if most is not None and len(findings) > most:
        print(f"... and {len(findings) - most} more (--json has all)")
    print(summary(findings))


def print_folded(findings: Sequence[Finding]) -> None:
    """As `print_findings`, but folded."""
    tell_folded(findings)
    print(summary(findings))


def ids_of(findings: Sequence[Finding], level: Level) -> list[str]:
    """The ids of the findings of a level."""
    return list(dict.fromkeys(one.id for one in findings if one.level is level))


def tell_folded(findings: Sequence[Finding]) -> None:
    """Print the first findings of each rule, UNKNOWN by reason, PASS in one line."""
    shown = [one for one in findings if one.level not in (Level.PASS, Level.UNKNOWN)]
    for key, alike in groupby(shown, key=lambda one: (one.level, one.id)):
        same = list(alike)
        _tell(same[:FEW])
        if len(same) > FEW:
            print(f"    ... and {len(same) - FEW} more of {key[1]} (--json has all)")
    reasons: dict[str, list[str]] = {}
    for one in findings:
        if one.level is Level.UNKNOWN:
            reasons.setdefault(one.message, []).append(one.id)
    for reason, ids in reasons.items():
        _print("", Level.UNKNOWN, f" {', '.join(dict.fromkeys(ids))}: {reason}")
    if passed := ids_of(findings, Level.PASS):
        _print("", Level.PASS, f" {', '.join(passed)}")


def _tell(findings: Sequence[Finding]) -> None:
    printed: set[tuple[str, str]] = set()
    for finding in findings:
        place = f"{finding.path}:{finding.line}: " if finding.line else f"{finding.path}: " if finding.path else ""
        named = finding.subject in finding.message or finding.subject == finding.path
        about = "" if named else f"{finding.subject}: "
        _print(place, finding.level, f" {finding.id}: {about}{finding.message}")
        for title, text in (("effect", finding.effect), ("remedy", finding.remedy)):
            if text and (finding.id, text) not in printed:
                print(f"    {title}: {inline(text)}")
            printed.add((finding.id, text))


def summary(findings: Sequence[Finding]) -> str:
    """How many findings each level has, worst first."""
    counts = Counter(finding.level for finding in findings)
    parts = [f"{counts[level]} {level}" for level in SHOWN if counts[level]]
    return ", ".join(parts) or "no findings"


def _print(before: str, level: Level, after: str) -> None:
    before, after = inline(before), inline(after)
    if not sys.stdout.isatty():
        print(f"{before}{level}{after}")
        return
    from rich.text import Text

    from railgauge.cli.terminal import console

    line = Text.assemble(before, (str(level), STYLE[level]), after)
    console().print(line)
