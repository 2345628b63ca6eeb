# SPDX-License-Identifier: Apache-2.0
"""Prints findings as text, and turns them into an exit status."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.output import print_lines
from railgauge.topo.errors import INTERNAL, UsageError
from railgauge.topo.findings.finding import Finding, Level, at_or_above

if TYPE_CHECKING:
    from railgauge.topo.render.findings import Detail

LEVELS = (Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN)


def _level(text: str) -> Level:
    try:
        return Level(text.upper())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(LEVELS)}") from None


FailOn = Annotated[
    Level,
    option(
        ANSWER,
        "--fail-on",
        metavar="LEVEL",
        parser=_level,
        help=f"Exit with status 1 at this level or worse: {', '.join(LEVELS)}.",
    ),
]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Check only ID or ID,ID...; repeatable.")]
Skip = Annotated[list[str] | None, typer.Option("--skip", metavar="ID", help="Leave out ID or ID,ID...; repeatable.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show each finding, what passed and what is unknown.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show only FAIL and WARN, a line each.")]
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


def detail_of(*, verbose: bool, quiet: bool) -> "Detail":
    """How much is shown. UsageError for both."""
    from railgauge.topo.render.findings import Detail

    if verbose and quiet:
        raise UsageError("-v shows more and -q less: give one")
    return Detail.FULL if verbose else Detail.BRIEF if quiet else Detail.USUAL


def print_findings(findings: Sequence[Finding], most: int | None = None, detail: "Detail | None" = None) -> None:
    """Print the findings, the worst first, at most `most`, and a line that counts all; in colour on a terminal."""
    from railgauge.topo.render.findings import Detail, finding_lines

    print_lines(finding_lines(findings, most, detail or Detail.USUAL))
