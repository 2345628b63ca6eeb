# SPDX-License-Identifier: Apache-2.0
"""Rows of results that measure the same thing: in repeated scans (-N), or in two results."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from railgauge.collectives.measure import Row, Timing
from railgauge.topo.predict.comparison import size_text

WAYS = ("out_of_place", "in_place")
LEAST_GB_PER_S = 1e-9
"""A byte a second: less counts as not measured."""


class RowName(NamedTuple):
    """What distinguishes a row from the others of its collective."""

    bytes: int
    dtype: str
    redop: str
    root: int

    @property
    def variant(self) -> str:
        """All except the size, for messages: `float sum`, `int8 root 3`."""
        redop = "" if self.redop == "none" else f" {self.redop}"
        return f"{self.dtype}{redop}{'' if self.root < 0 else f' root {self.root}'}"

    def __str__(self) -> str:
        """For messages: `1 MiB float sum`."""
        return f"{size_text(self.bytes)} {self.variant}"


def by_name(rows: Iterable[Row]) -> dict[RowName, list[Row]]:
    """Rows that measure the same, in order of first appearance."""
    found: dict[RowName, list[Row]] = {}
    for row in rows:
        found.setdefault(RowName(row.bytes, row.dtype, row.redop, row.root), []).append(row)
    return found


def timings(rows: Iterable[Row], way: str) -> list[Timing]:
    """The out-of-place or the in-place result of each row."""
    return [row.out_of_place if way == WAYS[0] else row.in_place for row in rows]


def median_busbw(rows: Iterable[Row], way: str) -> float:
    """In GB/s."""
    return median(timing.busbw_gb_per_s for timing in timings(rows, way))


def median_us(rows: Iterable[Row], way: str) -> float:
    """The clock time of one operation, which -C does not show; if nothing moved, the time that is shown."""
    rows = list(rows)
    return median(
        row.bytes / timing.algbw_gb_per_s / 1e3 if timing.algbw_gb_per_s > LEAST_GB_PER_S else timing.time_us
        for row, timing in zip(rows, timings(rows, way), strict=True)
    )
