# SPDX-License-Identifier: Apache-2.0
"""Ranks that are still in an operation that their peers have left."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.hold import Hold
from railgauge.topo.jobs.hang.rules.words import are, effect_of, evidence_of, have, since
from railgauge.topo.jobs.hang.standstill import Standstill

FROM_ROOT = ("broadcast", "scatter")


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.blame.still:
        where = f"{hold.operation} ({hold.comm.described})"
        message = f"{are(hold.waiting)} still in {where}, which {have(hold.through)} completed{since(hold)}"
        message += _of_root(hold)
        effect = effect_of(standstill.blame.follows(hold))
        evidence = evidence_of(hold, hold.waiting, standstill.blame.follows(hold))
        yield RULE.finding(Level.FAIL, hold.comm.title, message, effect=effect, **evidence)


def _of_root(hold: Hold) -> str:
    """What other reason keeps ranks in an operation that one rank sends to all others."""
    name = hold.call.name.lower().strip("_") if hold.call else ""
    if not name.startswith(FROM_ROOT) or len(hold.through) != 1:
        return ""
    return f"; a root leaves once it has sent: look also whether all name rank {hold.through[0]} as the root"


RULE: FileRule[Standstill] = FileRule(card=RANK_STUCK, check=_check)
