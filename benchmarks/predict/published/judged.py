# SPDX-License-Identifier: Apache-2.0
"""Verdicts of `railgauge judge` beside those of the people concerned: `python -m benchmarks.predict.published.judged`.

Every published table whose machine is known well enough, faulty ones among them, is judged beside its machine as it
should be, under NCCL's defaults where it was faulty. A healthy table that is found slow is a false alarm; a faulty one
that is not found is missed.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.predict.published import PublishedTable, half, read
from benchmarks.predict.published.__main__ import PEAK, settings_of
from benchmarks.predict.published.machines import machine_of, missing, nodes_of

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.judge import judge
from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.nccl.settings.algorithm import Collective

FORECASTS: dict[int, Forecasts] = {}
"""By the id of a machine, of which there is one for all of its tables."""


class Verdict(NamedTuple):
    """A table, and what was found."""

    table: PublishedTable
    judged: JudgedTable

    @property
    def found(self) -> list[str]:
        """The ids of what is wrong."""
        return [one.id for one in self.judged.findings if one.level in (Level.WARN, Level.FAIL)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("set", "judge"), help="one half alone")
    arguments = parser.parse_args()
    verdicts = list(judged(arguments.half))
    print(*(line for verdict in verdicts for line in lines(verdict)), *summary(verdicts), sep="\n")


def judged(which: str | None = None, of: str | None = None) -> Iterator[Verdict]:
    """The verdicts on all tables, or on those of one half, or of one verdict."""
    for table in read():
        if of not in (None, table.verdict):
            continue
        if which in (None, half(table.source)) and not missing(table._replace(verdict="unknown")):
            yield Verdict(table, _judged(table))


def _judged(table: PublishedTable) -> JudgedTable:
    settings = {} if table.verdict == "faulty" else settings_of(table)
    machine = machine_of(table)
    forecasts = FORECASTS.setdefault(id(machine), Forecasts(machine))
    return judge(measured(table), machine, nodes=nodes_of(table.machine), settings=settings, forecasts=forecasts)


def measured(table: PublishedTable) -> MeasuredTable:
    """A published table as a file's reader would give it."""
    rows = [
        TableRow(
            size=row.bytes,
            dtype=table.type,
            redop=table.redop or "",
            out_of_place=Measurement(time_us=row.us, busbw_gb_per_s=row.busbw, wrong=table.wrong),
            in_place=Measurement(time_us=row.in_place_us, busbw_gb_per_s=row.in_place_busbw)
            if row.in_place_busbw
            else None,
        )
        for row in table.rows
    ]
    if not rows and table.peak_busbw:
        rows = [TableRow(size=PEAK, dtype=table.type, out_of_place=Measurement(busbw_gb_per_s=table.peak_busbw))]
    return MeasuredTable(
        program=Program.NCCL_TESTS,
        release=table.tests or "",
        library=table.release or "",
        test=f"{table.collective}_perf",
        collective=Collective(table.collective),
        ranks=table.ranks,
        nodes=nodes_of(table.machine),
        per_thread=table.per_thread,
        rows=tuple(rows),
    )


def lines(verdict: Verdict) -> Iterator[str]:
    """A table that is healthy and was found slow, or faulty, with what was found."""
    table = verdict.table
    if table.verdict == "faulty" or (table.verdict == "healthy" and verdict.found):
        yield f"{table.verdict}, {half(table.source)}: {table.title} ({table.source}): {table.why or ''}"
        yield from (f"      {one.level} {one.id}: {one.message}" for one in verdict.judged.findings)


def summary(verdicts: list[Verdict]) -> Iterator[str]:
    """How many tables of each half and verdict have something wrong by the judge."""
    counts = Counter((half(one.table.source), one.table.verdict, bool(one.found)) for one in verdicts)
    for name in ("set", "judge"):
        for words in ("healthy", "faulty", "unknown"):
            found, clean = counts[name, words, True], counts[name, words, False]
            yield f"{name}: {found} of {found + clean} {words} tables have a finding"


if __name__ == "__main__":
    main()
