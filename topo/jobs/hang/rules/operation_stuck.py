# SPDX-License-Identifier: Apache-2.0
"""Operations that all ranks have called, and that do not complete."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import OPERATION_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.hold import Hold, begun
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.rules.words import effect_of, evidence_of, of_stacks, since, stack_evidence
from railgauge.topo.jobs.hang.stacks import OPERATIONS
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.blame.stuck:
        if not hold.is_told or not hold.comm.is_counted:
            continue
        said, ranks = _told(hold)
        level = Level.FAIL if hold.timed_out else Level.WARN
        follows = standstill.blame.follows(hold)
        evidence = evidence_of(hold, ranks, follows)
        yield RULE.finding(level, hold.comm.title, f"{said}{since(hold)}", effect=effect_of(follows), **evidence)
    yield from _of_stacks(standstill)


def _of_stacks(standstill: Standstill) -> Iterator[Finding]:
    stacks = standstill.scene.stacks
    operations = {one.operation for one in stacks}
    known = operations & {*OPERATIONS.values()}  # in others, and where a GPU is waited for, it may be any
    if len(stacks) > 1 and all(one.waits for one in stacks) and len(known or operations) == 1:
        message = f"no process with a stack does anything else: {of_stacks(stacks, 4)}"
        yield RULE.finding(Level.WARN, "stacks", message, **stack_evidence((), stacks))


def _told(hold: Hold) -> tuple[str, tuple[int, ...]]:
    """The message, and its ranks."""
    what = f"{hold.operation} ({hold.comm.described})"
    said = f"all ranks have called {what}, but it does not complete"
    started, others = begun(hold)
    if started and others:
        return f"{said}; the GPU of {named(others)} has not begun it, that of {named(started)} has", others
    return said, hold.waiting


RULE: FileRule[Standstill] = FileRule(card=OPERATION_STUCK, check=_check)
