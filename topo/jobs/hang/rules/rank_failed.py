# SPDX-License-Identifier: Apache-2.0
"""Ranks whose communicator has an error."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_FAILED
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import GONE
from railgauge.topo.jobs.hang.rules.words import are, complaints, evidence
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    for comm in standstill.scene.communicators.values():
        by_error: dict[str, list[int]] = {}
        for rank, error in comm.trouble.items():
            if comm.status.get(rank) not in GONE:
                by_error.setdefault(error, []).append(rank)
        for error, ranks in by_error.items():
            message = f"{are(ranks, 'reports', 'report')} {error!r} in {comm.described}"
            yield RULE.finding(Level.FAIL, comm.title, message, **evidence(comm, ranks=ranks, error=error))
    yield from complaints(standstill, RULE, Level.FAIL)


RULE: FileRule[Standstill] = FileRule(card=RANK_FAILED, check=_check)
