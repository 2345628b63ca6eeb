# SPDX-License-Identifier: Apache-2.0
"""The exit status of findings, and what stderr says of errors of railgauge itself; for the collector too, which has no
typer.
"""

from collections.abc import Iterator, Sequence

from railgauge.topo.errors import INTERNAL, INTERNAL_ERROR
from railgauge.topo.findings.finding import Finding, Level, at_or_above, kept_from_answer

FOUND = 1
"""Findings at or above --fail-on."""


def status_of_findings(findings: Sequence[Finding], fail_on: Level, counted: Sequence[Finding] | None = None) -> int:
    """70 if a rule crashed; else 1 if a finding is at `fail_on` or worse; else 70 if an effect could not be computed
    because of an error of railgauge; else 0.

    counted: those of the findings that count for 1; default all.
    """
    if kept_from_answer(findings):
        return INTERNAL
    if at_or_above(findings if counted is None else counted, fail_on):
        return FOUND
    return INTERNAL if any(one.error for one in findings) else 0


def error_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """The errors of railgauge itself, each once, with the ids of the findings that it kept back or left unpriced."""
    by_error: dict[tuple[str, str], dict[str, None]] = {}
    for one in findings:
        if one.error:
            by_error.setdefault((one.host, one.error), {})[one.id] = None
    for (host, error), ids in by_error.items():
        yield f"{', '.join(ids)}{f' on {host}' if host else ''}: {INTERNAL_ERROR}{error}"
