# SPDX-License-Identifier: Apache-2.0
"""Two results of one collective, row by row: the speed of each size now and before.

Rows are the same when bytes, type, operator and root are; of several (-N) the median is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.collectives.measure import Row
from railgauge.collectives.repeated import WAYS, RowName, by_name, median_busbw, median_us


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """One row, out_of_place or in_place, before and after: microseconds by the clock, and GB/s."""

    name: RowName
    way: str
    before_us: float
    after_us: float
    before_busbw_gb_per_s: float
    after_busbw_gb_per_s: float
    worse: bool
    """Slower than before by more than the tolerance."""

    @property
    def speed(self) -> float:
        """Speed after over speed before: 0.5 takes twice the time. 1 where no time was measured."""
        return self.before_us / self.after_us if self.after_us > 0 else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two results compared by row, and the rows that one of them lacks."""

    rows: list[ComparedRow]
    only_before: list[RowName]
    only_after: list[RowName]

    @property
    def worse(self) -> list[ComparedRow]:
        """The rows that are too slow now."""
        return [row for row in self.rows if row.worse]


def compare(before: Sequence[Row], after: Sequence[Row], tolerance: float) -> Comparison:
    """Compare what both have measured; `tolerance` is the share of the speed that may be lost, 0 to less than 1."""
    old, new = by_name(before), by_name(after)
    return Comparison(
        rows=[_compared(name, way, old[name], new[name], tolerance) for name in new if name in old for way in WAYS],
        only_before=[name for name in old if name not in new],
        only_after=[name for name in new if name not in old],
    )


def _compared(name: RowName, way: str, old: Sequence[Row], new: Sequence[Row], tolerance: float) -> ComparedRow:
    before_us, after_us = median_us(old, way), median_us(new, way)
    return ComparedRow(
        name=name,
        way=way,
        before_us=before_us,
        after_us=after_us,
        before_busbw_gb_per_s=median_busbw(old, way),
        after_busbw_gb_per_s=median_busbw(new, way),
        worse=before_us < (1 - tolerance) * after_us,
    )
