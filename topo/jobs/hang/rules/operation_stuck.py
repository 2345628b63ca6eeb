# SPDX-License-Identifier: Apache-2.0
"""Operations that all ranks have called, and that do not complete."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import OPERATION_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.rules.words import are, evidence_of, have
from railgauge.topo.jobs.hang.standstill import Hold, Standstill, begun


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.holds:
        others = hold.behind or hold.silent or hold.untold or hold.gone
        if hold.is_told and hold.comm.is_counted and not others and id(hold.lane) not in standstill.apart:
            since = f", since {hold.since}" if hold.since else ""
            said, ranks = _told(hold)
            level = Level.FAIL if hold.timed_out else Level.WARN
            yield RULE.finding(level, hold.comm.title, f"{said}{since}", **evidence_of(hold, ranks))


def _told(hold: Hold) -> tuple[str, tuple[int, ...]]:
    """The message, and its ranks."""
    what = f"{hold.operation} ({hold.comm.described})"
    if hold.through:
        return f"{are(hold.waiting)} still in {what}, which {have(hold.through)} completed", hold.waiting
    said = f"all ranks have called {what}, but it does not complete"
    started, others = begun(hold)
    if started and others:
        return f"{said}; the GPU of {named(others)} has not begun it, that of {named(started)} has", others
    return said, hold.waiting


RULE: FileRule[Standstill] = FileRule(card=OPERATION_STUCK, check=_check)
