# SPDX-License-Identifier: Apache-2.0
"""A measured curve beside a forecast: bus bandwidth in GB/s by size in bytes, in the order of sizes."""

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, TableRow

LARGE = 1 << 20
"""From this size on bandwidth counts rather than latency, and a forecast is held to its figures."""
TOP = 3
"""How many of the largest sizes make the figure that is reached."""


class Sized(NamedTuple):
    """The bus bandwidth of one size."""

    size: int
    gb_per_s: float


def measured(table: MeasuredTable) -> list[Sized]:
    """The better way of each size."""
    out, inside = out_of_place(table), dict(in_place(table))
    return [Sized(size, max(by, inside.get(size, 0.0))) for size, by in out] or in_place(table)


def out_of_place(table: MeasuredTable) -> list[Sized]:
    """The sizes that were measured out of place."""
    return _curve(table, ((row, row.out_of_place) for row in table.rows))


def in_place(table: MeasuredTable) -> list[Sized]:
    """The sizes that were measured in place."""
    return _curve(table, ((row, row.in_place) for row in table.rows if row.in_place))


def _curve(table: MeasuredTable, found: Iterable[tuple[TableRow, Measurement]]) -> list[Sized]:
    """Of a size that comes several times (-N) the median."""
    by_size: dict[int, list[float]] = {}
    for row, way in found:
        if row.size and (by := busbw(table, row, way)):
            by_size.setdefault(row.size, []).append(by)
    return [Sized(size, median(several)) for size, several in sorted(by_size.items())]


def ways(row: TableRow) -> tuple[Measurement, ...]:
    """Out of place, and in place if it was measured."""
    return (row.out_of_place,) if row.in_place is None else (row.out_of_place, row.in_place)


def busbw(table: MeasuredTable, row: TableRow, way: Measurement) -> float | None:
    """What the program states, else of a collective by nccl-tests' factor from algbw or time; None if unknown."""
    if way.busbw_gb_per_s is not None:
        return way.busbw_gb_per_s
    if table.collective is None:
        return way.algbw_gb_per_s
    alone = way.algbw_gb_per_s or (row.size / way.time_us / 1e3 if way.time_us else None)
    return alone * table.collective.factor(table.ranks) if alone is not None and table.ranks > 1 else None


def large(curve: Iterable[Sized]) -> list[Sized]:
    """The sizes that bandwidth decides; the upper half where none is as large."""
    whole = list(curve)
    return [one for one in whole if one.size >= LARGE] or whole[len(whole) // 2 :]


def reached(curve: list[Sized]) -> float:
    """The figure of the largest sizes in GB/s."""
    return median(one.gb_per_s for one in curve[-TOP:])


def apart(curve: Iterable[Sized], beside: Mapping[int, float]) -> float:
    """How far two curves are apart: the root of the mean square of log2 of their ratio at the large sizes."""
    logs = [math.log2(one.gb_per_s / beside[one.size]) for one in large(curve) if beside.get(one.size)]
    return math.sqrt(sum(log * log for log in logs) / len(logs)) if logs else math.inf
