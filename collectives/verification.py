# SPDX-License-Identifier: Apache-2.0
"""Verification of an operation: every element of a rank's destination against the ranks' inputs, which are recomputed
from their Pattern (collectives/native/pattern.h).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.expectation import expected


@dataclass(frozen=True, slots=True)
class Verification:
    """How many elements of one rank are wrong, and the first of them."""

    kind: PatternKind
    wrong: int = 0
    index: int = 0
    expected: float = 0.0
    got: float = 0.0
    ulps: float = 0.0
    """The tolerance in units in the last place; 0: exact."""

    def __str__(self) -> str:
        """For messages: `random data: index 7: expected 5.25 within 1.5 ULP, got inf`."""
        random = "random data: " if self.kind is PatternKind.RANDOM else ""
        within = f" within {self.ulps:.3g} ULP" if self.ulps else ""
        return f"{random}index {self.index}: expected {self.expected:.17g}{within}, got {self.got:.17g}"


def verify(
    case: OperationCase,
    pattern: native.Pattern,
    kind: PatternKind,
    at: Callable[[int], Any],
    rank: int,
    ranks: int,
    checks: Any = native,
) -> Verification:
    """Compare `rank`'s whole destination after the case with the expected result; the inputs are the pattern's.

    `at` returns the destination from an element on, in the form for `checks`: memory for the native module's host
    checks, pointers for those of a native.GpuPatterns.
    """
    verdict = Verification(kind)
    for piece in expected(case.collective, rank=rank, ranks=ranks, count=case.count, root=case.root):
        data = at(piece.offset)
        if piece.rank is None:
            wrong, index, *values = checks.check_reduced(pattern, data, piece.count, piece.index)
        else:
            wrong, index, *values = checks.check_copied(pattern, piece.rank, data, piece.count, piece.index)
        if wrong and not verdict.wrong:
            verdict = Verification(kind, wrong, piece.offset + index, *values)
        elif wrong:
            verdict = replace(verdict, wrong=verdict.wrong + wrong)
    return verdict
