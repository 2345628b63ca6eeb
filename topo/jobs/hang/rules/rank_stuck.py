# SPDX-License-Identifier: Apache-2.0
"""Ranks that are still in an operation that their peers have left."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.rules.words import are, effect_of, evidence_of, have, since
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.blame.still:
        where = f"{hold.operation} ({hold.comm.described})"
        message = f"{are(hold.waiting)} still in {where}, which {have(hold.through)} completed{since(hold)}"
        effect = effect_of(standstill.blame.follows(hold))
        evidence = evidence_of(hold, hold.waiting, standstill.blame.follows(hold))
        yield RULE.finding(Level.FAIL, hold.comm.title, message, effect=effect, **evidence)


RULE: FileRule[Standstill] = FileRule(card=RANK_STUCK, check=_check)
