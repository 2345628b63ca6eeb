# SPDX-License-Identifier: Apache-2.0
"""Communicators whose start does not complete."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import START_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import JobCommunicator, Status
from railgauge.topo.jobs.hang.rules.words import are, by_status, complaints, evidence, few, have
from railgauge.topo.jobs.hang.standstill import Standstill

MOST_NODES = 8  # whose interface is in the message; the evidence has all


def _check(standstill: Standstill) -> Iterator[Finding]:
    for comm in standstill.scene.communicators.values():
        starting = by_status(comm, Status.STARTING)
        absent = [rank for rank in comm.members if rank not in comm.status]
        if not starting or (absent and not few(absent, comm)):
            continue
        known = standstill.scene.bootstraps
        by = {host: known[host] for host in comm.nodes.values() if host in known}
        said = f"{are(starting)} in the start of {comm.described}{_why(comm, absent)}"
        if by:
            interfaces = ", ".join(f"{how} on {host}" for host, how in list(by.items())[:MOST_NODES])
            said += f"; bootstrap interface: {interfaces}"
        yield RULE.finding(
            Level.FAIL, comm.title, said, **evidence(comm, ranks=absent or starting, bootstraps=by, starting=starting)
        )
    yield from complaints(standstill, RULE, Level.FAIL)


def _why(comm: JobCommunicator, absent: list[int]) -> str:
    if absent:
        return f", which {have(absent)} not begun"
    if through := by_status(comm, Status.RUNNING):
        return f", which {have(through)} completed"
    return ": all have begun it and none has completed it, so they do not reach each other"


RULE: FileRule[Standstill] = FileRule(card=START_STUCK, check=_check)
