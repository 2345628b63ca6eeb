# SPDX-License-Identifier: Apache-2.0
"""Ranks that wait, with too little evidence to name the ranks they wait for."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import EVIDENCE_SHORT
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import Status, named
from railgauge.topo.jobs.hang.rules.words import (
    are,
    by_status,
    complaints,
    evidence,
    evidence_of,
    few,
    of_stacks,
    stack_evidence,
    wait,
)
from railgauge.topo.jobs.hang.standstill import Standstill

FEW = 4  # places in stacks
MOST_NODES = 8  # whose interface is in the message; the evidence has all


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.blame.short:
        unknown = (*hold.silent, *hold.untold)
        message = f"{wait(hold, f'in {hold.operation}')} ({hold.comm.described}); no data from {named(unknown)}"
        yield RULE.finding(Level.UNKNOWN, hold.comm.title, message, **evidence_of(hold, unknown))
    for hold in standstill.blame.stuck:
        if hold.is_told and not hold.comm.is_counted:
            message = f"{wait(hold, f'in {hold.operation}')} ({hold.comm.title}); its number of ranks is unknown"
            yield RULE.finding(Level.UNKNOWN, hold.comm.title, message, **evidence_of(hold, ()))
    for comm in standstill.scene.communicators.values():
        starting = by_status(comm, Status.STARTING)
        absent = [rank for rank in comm.members if rank not in comm.status]
        if starting and absent and not few(absent, comm):
            message = f"{are(starting)} in the start of {comm.described}; no data from {named(absent)}"
            yield RULE.finding(Level.UNKNOWN, comm.title, message, **evidence(comm, ranks=absent))
    stacks = standstill.scene.stacks
    if stacks and (len(stacks) == 1 or not any(one.waits for one in stacks)):
        message = f"{of_stacks(stacks, FEW)}; the stacks of the other processes would show who waits for whom"
        yield RULE.finding(Level.UNKNOWN, "stacks", message, **stack_evidence(stacks, ()))
    heard = sorted(standstill.scene.heard)
    if heard and not standstill.holds:
        message = f"the watchdog of {named(heard)} gave up; on which operation is not in the files"
        yield RULE.finding(Level.UNKNOWN, "watchdog", message, ranks=heard)
    known = standstill.scene.bootstraps
    if known and not standstill.scene.communicators:
        by = ", ".join(f"{how} on {host}" for host, how in list(known.items())[:MOST_NODES])
        message = f"NCCL has started (bootstrap interface: {by}), but the logs have no start of a communicator"
        yield RULE.finding(Level.UNKNOWN, "start", message, bootstraps=known)
    yield from complaints(standstill, RULE, Level.UNKNOWN)


RULE: FileRule[Standstill] = FileRule(card=EVIDENCE_SHORT, check=_check)
