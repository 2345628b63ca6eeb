# SPDX-License-Identifier: Apache-2.0
"""Tables of PARAM's communication benchmark (train/comms/pt/comms.py): lines COMMS-RES.

A table has the rows of one collective and type.

GB/s are bytes/ns, so 1e9 bytes/s; they are of the median of the ranks' average times, which is `time_us`. Point to
point (pt2pt) has the time of a ping and the average bandwidth in one direction. Quantised runs have no bandwidths.
"""

import re

from railgauge.topo.jobs.tables.draft import Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.jobs.tables.text_line import TextLine

LINE = re.compile(r"COMMS-RES(?!-QUANT)(?:-(\w{1,32})-([A-Za-z]\w{0,15})(\S{0,64}))?((?: +[\w.%:()/-]{1,32})+) *$")
COLUMN = re.compile(r"(?:total-)?size \(B\)|\S{1,32}")
FIGURE = re.compile(r"\d{1,18}(?:\.\d{1,6})?")
TIMES = ("Time(us):p50", "Latency(us):p50", "pingLatency(us):p50")
ALGBW = ("AlgBW(GB/s)", "algBW(GB/s)", "avgUniBW(GB/s)")
BUSBW = ("BusBW(GB/s)", "busBW(GB/s)")
USUAL = ("size (B)", "num-elements", *TIMES[:1], "p75", "p95", "Min", "Max", *ALGBW[:1], *BUSBW[:1])
WITHOUT_HEADING = {9: USUAL, 10: (*USUAL, "total")}
MOST, LONGEST_LINE = 1 << 10, 1 << 10


class ParamReader:
    """Tables of PARAM out of lines in their order."""

    marks = (b"COMMS-RES",)

    def __init__(self) -> None:
        self._drafts = Drafts(Program.PARAM)
        self._open: dict[tuple[str, str, str], DraftTable] = {}
        self._columns: tuple[str, ...] = ()

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows. Nothing ends a table: whether it broke off cannot be known."""
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        if "COMMS-RES" not in line.text or not (found := LINE.search(line.text[-LONGEST_LINE:])):
            return
        if "(B)" in found[4]:
            self._columns, self._open = tuple(COLUMN.findall(found[4].strip())), {}
        else:
            self._row(found, found[4].split(), line.number)

    def _row(self, found: re.Match[str], values: list[str], number: int) -> None:
        columns = self._columns or WITHOUT_HEADING.get(len(values), ())
        # since 2021 a row ends in a total time, whose column not every heading has
        if len(values) not in (len(columns), len(columns) + 1) or not all(map(FIGURE.fullmatch, values)):
            return
        named = dict(zip(columns, values, strict=False))
        size = next((value for name, value in named.items() if name.endswith("(B)")), "")
        time, algbw, busbw = (_figure(named, names) for names in (TIMES, ALGBW, BUSBW))
        if not size.isdigit() or time is None or algbw is None:
            return
        way = Measurement(
            time_us=time,
            algbw_gb_per_s=algbw,
            busbw_gb_per_s=busbw,
            min_us=_figure(named, ("Min",)),
            max_us=_figure(named, ("Max",)),
        )
        key = found[1] or "", found[2] or "", found[3] or ""
        if key not in self._open and len(self._open) < MOST:
            table = self._open[key] = self._drafts.begin(number)
            table.test, table.detail = key[0], key[2]
            table.collective = collective_named(key[0])
        if key in self._open:
            self._open[key].add(TableRow(size=int(size), out_of_place=way, dtype=key[1]))


def _figure(named: dict[str, str], names: tuple[str, ...]) -> float | None:
    return next((float(named[name]) for name in names if name in named), None)
