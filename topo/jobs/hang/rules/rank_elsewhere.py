# SPDX-License-Identifier: Apache-2.0
"""Stacks: processes that are not in the operation that others wait in."""

from collections import Counter
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.hang import RANK_ELSEWHERE
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import ProcessStack
from railgauge.topo.jobs.hang.rules.words import of_stacks, stack_evidence
from railgauge.topo.jobs.hang.stacks import OPERATIONS
from railgauge.topo.jobs.hang.standstill import Standstill

SUBJECT = "stacks"
FEW = 4  # places that are named, those with the fewest processes


def _check(standstill: Standstill) -> Iterator[Finding]:
    stacks = standstill.scene.stacks
    waiting = [one for one in stacks if one.waits]
    busy = [one for one in stacks if not one.waits] or _fewer(waiting)
    waiting = [one for one in waiting if one not in busy]
    operations = {one.operation for one in waiting if one.operation in OPERATIONS.values()}
    if not any(one.operation for one in waiting) or (not busy and len(operations) < 2):
        return
    if busy:
        message = f"{of_stacks(busy, FEW)}, while {of_stacks(waiting, FEW)}"
        yield RULE.finding(Level.FAIL, SUBJECT, message, **stack_evidence(busy, waiting))
    else:
        message = f"the processes are in different operations: {of_stacks(waiting, FEW)}"
        yield RULE.finding(Level.FAIL, SUBJECT, message, **stack_evidence((), waiting))


def _fewer(waiting: Sequence[ProcessStack]) -> list[ProcessStack]:
    """Those that are in another operation than most: a rank that waits for its GPU may be in any."""
    known = [one for one in waiting if one.operation in OPERATIONS.values()]
    counts = Counter(one.operation for one in known).most_common(1)
    if not counts or 2 * counts[0][1] <= len(known):
        return []
    return [one for one in known if one.operation != counts[0][0]]


RULE: FileRule[Standstill] = FileRule(card=RANK_ELSEWHERE, check=_check)
