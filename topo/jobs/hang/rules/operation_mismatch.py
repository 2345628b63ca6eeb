# SPDX-License-Identifier: Apache-2.0
"""Operations that ranks called differently."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import OPERATION_MISMATCH
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.agreement import told_apart
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.rules.words import complaints, effect_of, evidence
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    for comm, lane, number, by_terms in standstill.partings:
        where = f"rank {lane.peers[0]} to rank {lane.peers[1]}" if lane.peers else f"operation #{number}"
        message = f"ranks called different operations at {where} ({comm.described}): {told_apart(by_terms)}"
        odd = min(by_terms.values(), key=lambda ranks: (len(ranks), ranks))
        effect = effect_of(standstill.blame.follows_lane(id(lane)))
        yield RULE.finding(Level.FAIL, comm.title, message, effect=effect, **evidence(comm, ranks=odd, number=number))
    for one, two in standstill.swapped:
        few, many = sorted((one, two), key=lambda hold: len(hold.behind))
        message = (
            f"ranks called different operations ({few.comm.described}): {named(few.behind)} called {many.name} "
            f"where {named(many.behind)} "
            f"called {few.name}"
        )
        yield RULE.finding(Level.FAIL, few.comm.title, message, **evidence(few.comm, ranks=list(few.behind)))
    yield from complaints(standstill, RULE, Level.FAIL)


RULE: FileRule[Standstill] = FileRule(card=OPERATION_MISMATCH, check=_check)
