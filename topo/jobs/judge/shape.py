# SPDX-License-Identifier: Apache-2.0
"""What a table says by itself, whatever the machine: wrong results, units, too few iterations, ways that differ."""

from collections.abc import Iterator
from statistics import median

from railgauge.topo.findings.cards.measured import IN_PLACE_DIFFERS, TOO_FEW_ITERATIONS, UNIT_MISTAKEN, WRONG_RESULTS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.judge.curve import LARGE, busbw, ways
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.predict.comparison import size_text

WAYS_APART = 1.25
"""In place over out of place: collectives run the same kernels; healthy tables differ by less."""
FEW = 5
"""Fewer repetitions of a size are noise (nccl-tests' default is 20)."""
GIGABIT = (7.2, 8.8)
UNITS = (
    (GIGABIT, "algbw is 8 times size over time: the column is in Gb/s, not GB/s"),
    ((900.0, 1100.0), "algbw is 1000 times size over time: the column is in MB/s, not GB/s"),
    ((9e-4, 1.1e-3), "algbw is a thousandth of size over time: the time is in ms, not us"),
)
"""How many times algbw may be what follows from size and time, and why."""
ALIKE = 0.01
"""Figures are printed with three digits or more."""


def of_table(table: MeasuredTable) -> Iterator[Finding]:
    """The findings of one table."""
    yield from _wrong(table)
    yield from _units(table)
    yield from _iterations(table)
    yield from _in_place(table)


def subject(table: MeasuredTable) -> str:
    """What a table's findings are about."""
    return str(table.collective or table.test)


def _wrong(table: MeasuredTable) -> Iterator[Finding]:
    bad = {row.size: way.wrong for row in table.rows for way in ways(row) if way.wrong}
    if bad:
        sizes = f"{len(bad)} of {len({row.size for row in table.rows})} sizes, the first {size_text(min(bad))}"
        message = f"{sum(bad.values())} elements are wrong at {sizes}"
        yield WRONG_RESULTS.finding(Level.FAIL, subject(table), message, evidence={"sizes": sorted(bad)})


def _units(table: MeasuredTable) -> Iterator[Finding]:
    """Columns that do not follow from the time: edited by hand, or printed in another unit."""
    ratios, equal = [], []
    for row in table.rows:
        for way in ways(row):
            if way.time_us and way.algbw_gb_per_s and row.size >= LARGE:
                ratios.append(way.algbw_gb_per_s / (row.size / way.time_us / 1e3))
            if way.algbw_gb_per_s and way.busbw_gb_per_s:
                equal.append(abs(way.busbw_gb_per_s / way.algbw_gb_per_s - 1) < ALIKE)
    for (low, high), message in UNITS:
        if ratios and low < median(ratios) < high:
            yield UNIT_MISTAKEN.finding(Level.WARN, subject(table), message, evidence={"ratio": median(ratios)})
    factor = table.collective.factor(table.ranks) if table.collective and table.ranks else 1.0
    if len(equal) > 1 and all(equal) and abs(factor - 1) > 2 * ALIKE:
        message = f"busbw equals algbw; for {table.collective} of {table.ranks} ranks it is {factor:.4g} times that"
        yield UNIT_MISTAKEN.finding(Level.WARN, subject(table), message, evidence={"factor": factor})


def _iterations(table: MeasuredTable) -> Iterator[Finding]:
    few = table.iterations is not None and table.iterations < FEW
    if few or table.warmup == 0:
        parts = [
            *([f"{table.iterations} iterations of a size"] if few else []),
            *(["no warm-up: the first operations connect the ranks"] if table.warmup == 0 else []),
        ]
        evidence = {"iterations": table.iterations, "warmup": table.warmup}
        yield TOO_FEW_ITERATIONS.finding(Level.WARN, subject(table), "; ".join(parts), evidence=evidence)


def _in_place(table: MeasuredTable) -> Iterator[Finding]:
    ratios = {}
    for row in table.rows:
        if row.in_place is not None and row.size >= LARGE:
            out, inside = busbw(table, row, row.out_of_place), busbw(table, row, row.in_place)
            if out and inside:
                ratios[row.size] = inside / out
    if len(ratios) < 2:
        return
    usual = median(ratios.values())
    if not 1 / WAYS_APART < usual < WAYS_APART:
        how = f"{usual:.2g} times as fast" if usual > 1 else f"{1 / usual:.2g} times slower"
        message = f"in place is {how} from {size_text(min(ratios))} on"
        yield IN_PLACE_DIFFERS.finding(Level.WARN, subject(table), message, evidence={"ratio": usual})
