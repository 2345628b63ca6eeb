# SPDX-License-Identifier: Apache-2.0
"""Prints findings as text, and turns them into an exit status."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_status import error_lines, status_of_findings
from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.output import print_lines
from railgauge.cli.streams import tell
from railgauge.topo.errors import INTERNAL, UsageError
from railgauge.topo.findings.finding import Finding, Level, kept_from_answer

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


def leave_if_failed(findings: Sequence[Finding]) -> None:
    """Exit with 70 and print the errors on stderr if rules crashed; the answer of the other rules stands."""
    if kept_from_answer(findings):
        _leave(INTERNAL, findings)


def leave_with(findings: Sequence[Finding], fail_on: Level, counted: Sequence[Finding] | None = None) -> None:
    """Exit with the status of the findings (findings_status.py), and print errors of railgauge itself on stderr."""
    _leave(status_of_findings(findings, fail_on, counted), findings)


def _leave(status: int, findings: Sequence[Finding]) -> None:
    for line in error_lines(findings):
        tell(f"railgauge: {line}")
    if status:
        sys.stdout.flush()
        raise typer.Exit(status)


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
