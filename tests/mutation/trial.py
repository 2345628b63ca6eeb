# SPDX-License-Identifier: Apache-2.0
"""One mutant's trial: the tests that enter its function run until one fails."""

import time
from dataclasses import dataclass

from tests.mutation.mutants import Mutant
from tests.mutation.reach import FAILED, Map
from tests.mutation.tree import Tree

SLACK_S = 60.0
"""Beyond twice what the tests took without the fault: after that the mutant hangs, which is seen."""
NOTHING_RAN = 5
"""pytest's status when all tests were left out."""


@dataclass(frozen=True)
class Verdict:
    """How it went."""

    result: str
    """killed, timed out (killed as well), survived, or equivalent."""
    by: str = ""
    """The test that failed, or why it is equivalent."""
    seconds: float = 0.0
    tried: int = 0
    """Test files."""
    left_out: int = 0
    """Test files that enter the function, beyond the budget."""


def trial(tree: Tree, reach: Map, mutant: Mutant, *, budget_s: float) -> Verdict:
    """Run tests that took up to `budget_s` without the fault; one test file at least."""
    files = reach.tests(mutant)
    chosen: list[str] = []
    cost = 0.0
    for name in files:
        if chosen and cost + reach.seconds(name) > budget_s:
            break
        chosen.append(name)
        cost += reach.seconds(name)
    rest = len(files) - len(chosen)
    if not chosen:
        return Verdict("survived", "no test enters it")
    left_out = [f"--deselect={test}" for name in chosen for test in reach.failed(name)]
    began = time.monotonic()
    with tree.fault(mutant):
        status, printed = tree.pytest("-x", "-rfE", *left_out, *chosen, limit_s=2 * cost + SLACK_S)
    seconds = round(time.monotonic() - began, 1)
    if status is None:
        return Verdict("timed out", seconds=seconds, tried=len(chosen), left_out=rest)
    if status in (0, NOTHING_RAN):
        return Verdict("survived", seconds=seconds, tried=len(chosen), left_out=rest)
    failed = FAILED.search(printed)
    return Verdict("killed", failed[1] if failed else f"pytest ended with {status}", seconds, len(chosen), rest)
