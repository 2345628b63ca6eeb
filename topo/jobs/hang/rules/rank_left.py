# SPDX-License-Identifier: Apache-2.0
"""Communicators that some ranks have left and others have not."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_LEFT
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import Status
from railgauge.topo.jobs.hang.rules.words import are, by_status, complaints, evidence, have
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    for comm in standstill.scene.communicators.values():
        left, stay = by_status(comm, Status.LEFT), by_status(comm, Status.RUNNING)
        if left and stay:
            message = f"{have(left)} left {comm.described}; {are(stay)} in it"
            yield RULE.finding(Level.WARN, comm.title, message, **evidence(comm, ranks=left))
    yield from complaints(standstill, RULE, Level.WARN)


RULE: FileRule[Standstill] = FileRule(card=RANK_LEFT, check=_check)
