# SPDX-License-Identifier: Apache-2.0
"""Ranks that others wait for, and that have left no trace or do not answer."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_MISSING
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import Status, named
from railgauge.topo.jobs.hang.rules.words import (
    by_status,
    complaints,
    effect_of,
    evidence,
    evidence_of,
    operation,
    wait,
)
from railgauge.topo.jobs.hang.standstill import Standstill

FEW = 4  # processes that are named one by one


def _check(standstill: Standstill) -> Iterator[Finding]:
    for comm in standstill.scene.communicators.values():
        for status, how in ((Status.DEAD, "dead"), (Status.SILENT, "not answering")):
            if ranks := by_status(comm, status):
                why = "; ".join([comm.trouble[rank] for rank in ranks if rank in comm.trouble][:FEW])
                message = f"{named(ranks)} of {comm.described}: {how}{f' ({why})' if why else ''}"
                yield RULE.finding(Level.FAIL, comm.title, message, **evidence(comm, ranks=ranks))
    for hold in standstill.blame.missing:
        if hold.silent:
            lacks = "they have ended, have" if len(hold.silent) > 1 else "it has ended, has"
            message = (
                f"no data from {named(hold.silent)}: {lacks} not entered {operation(hold, hold.silent)}, or left files "
                f"that were not given; {wait(hold)}"
            )
            follows = standstill.blame.follows(hold)
            evidence_all = evidence_of(hold, hold.silent, follows)
            yield RULE.finding(Level.FAIL, hold.comm.title, message, effect=effect_of(follows), **evidence_all)
    yield from complaints(standstill, RULE, Level.FAIL)


RULE: FileRule[Standstill] = FileRule(card=RANK_MISSING, check=_check)
