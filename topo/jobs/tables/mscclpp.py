# SPDX-License-Identifier: Apache-2.0
"""Tables of MSCCL++: mscclpp-test's (nccl-tests' without the type), those of its Python benchmarks, and the JSON lines
of mscclpp-test -o.

mscclpp-test measures in place or out of place and indents a row to its columns; GB/s are 1e9 bytes/s everywhere
(test/mscclpp-test, python/mscclpp_benchmark). Its Python prints sizes in KiB or MiB with one decimal: they are rounded.
"""

import re
from collections.abc import Mapping
from typing import Any

from railgauge.topo.jobs.tables.devices import DEVICE, Devices
from railgauge.topo.jobs.tables.documents import figure
from railgauge.topo.jobs.tables.draft import Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.nccl_columns import RowReader, columns_of
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.jobs.tables.text_line import TextLine

COMMAND = re.compile(r"\b([a-z]\w{1,32}_test_perf)\b")
PARAMETERS = re.compile(r"\bminBytes \d.{1,200}kernel num: \d")
PARAMETER = re.compile(r"\b(warmup iters|iters|validation): (\d{1,9})\b")
OUT_OF_BOUNDS = re.compile(r"Out of bounds values *: *(\d{1,18})\b")
BENCHMARK = re.compile(r"MSCCL\+\+ (\w{1,32}) benchmark:")
SIZE = re.compile(r"(\d{1,6}(?:\.\d)?) ([KMGTP]i)?B")
FIGURE = re.compile(r"\d{1,12}\.\d{2}")
UNITS = {None: 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
INDENT = 20
"""Spaces before the figures of the second way; the first one has a few."""
TIME, ALGBW, BUSBW = ("Time (us)", "time_us"), ("AlgBW (GB/s)", "algBW_GB/s"), ("busBW_GB/s",)


class MscclppReader:
    """Tables of MSCCL++ out of lines in their order."""

    marks = (b"iB ", b" B ", b"lgBW", b"MSCCL++", b"minBytes", b"_perf", b"Rank ", b"bw", b"bounds")

    def __init__(self) -> None:
        self._drafts = Drafts(Program.MSCCLPP)
        self._test = ""
        self._table: DraftTable | None = None
        self._devices = Devices()
        self._rows = RowReader()
        self._names: list[str] = []
        self._kernel: tuple[object, ...] = ()

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        text = line.text
        if "|" in text:
            self._cells([cell.strip() for cell in text.strip(" |").split("|")], line.number)
        elif "bw" in text and (columns := columns_of(text)) and not columns.words:
            self._rows.columns = columns._replace(ways=columns.ways[:1])
            if not self._table or self._table.rows:
                self._begin(line.number)
        elif self._table and (found := DEVICE.search(text) if "Rank" in text else None):
            self._devices.take(found, self._table)
        elif self._table and self._rows.columns and (row := self._rows.take(text)):
            self._table.add(_in_its_place(row, text))
        elif self._table and (found := OUT_OF_BOUNDS.search(text)):
            self._table.out_of_bounds, self._table.complete = int(found[1]), True
            self._table, self._rows.columns = None, None
        else:
            self._heading(text, line.number)

    def take_document(self, document: Mapping[str, Any], number: int) -> bool:
        """Take in a line of mscclpp-test -o; False if it is another program's."""
        if not {"kernel", "ranksPerNode", "busBw"} <= document.keys():
            return False
        names = ("size", "time", "algBw", "busBw", "ranks", "ranksPerNode")
        figures = [one for name in names if (one := figure(document.get(name))) is not None]
        if len(figures) < len(names):
            return True
        size, time, algbw, busbw, ranks, per_node = figures
        kernel = (document.get("name"), document["kernel"], ranks)
        if self._table is None or kernel != self._kernel:
            self._test, self._kernel = str(document.get("name"))[:64], kernel
            table = self._begin(number)
            table.ranks, table.nodes = int(ranks), round(ranks / per_node) if per_node else 0
        if self._table:
            way = Measurement(time_us=time, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw)
            self._table.add(TableRow(size=int(size), out_of_place=way))
        return True

    def _begin(self, number: int) -> DraftTable:
        table = self._table = self._drafts.begin(number)
        table.test, table.collective, table.gpu_memory = self._test, collective_named(self._test), True
        self._devices, self._names = Devices(), []
        return table

    def _heading(self, text: str, number: int) -> None:
        if "minBytes" in text and PARAMETERS.search(text):
            table = self._begin(number)
            given = {name: int(value) for name, value in PARAMETER.findall(text)}
            table.iterations, table.warmup = given.get("iters"), given.get("warmup iters")
            table.checked = bool(given["validation"]) if "validation" in given else None
        elif found := COMMAND.search(text) if "_test_perf" in text else BENCHMARK.search(text):
            self._test, self._table = found[1], None

    def _cells(self, cells: list[str], number: int) -> None:
        """A line of a table of the Python benchmarks: names, or a row of as many cells."""
        if any(name in cells for name in ALGBW):
            self._begin(number)
            self._names = cells
        elif self._table and len(cells) == len(self._names):
            named = dict(zip(self._names, cells, strict=True))
            sizes = [SIZE.fullmatch(cell) for name, cell in named.items() if name.startswith(("Size", "total"))]
            time, algbw, busbw = (_figure(named, names) for names in (TIME, ALGBW, BUSBW))
            if sizes and sizes[0] and time is not None and algbw is not None:
                way = Measurement(time_us=time, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw)
                size = round(float(sizes[0][1]) * (1 << UNITS[sizes[0][2]]))
                self._table.add(TableRow(size=size, out_of_place=way))


def _in_its_place(row: TableRow, text: str) -> TableRow:
    """A row of the first way, in place, or of the second."""
    behind = re.search(rf"\b0*{row.size} +\d+( +)", text)
    if behind and len(behind[1]) >= INDENT:
        return row
    return TableRow(size=row.size, out_of_place=Measurement(), in_place=row.out_of_place)


def _figure(named: dict[str, str], names: tuple[str, ...]) -> float | None:
    return next((float(named[name]) for name in names if FIGURE.fullmatch(named.get(name, ""))), None)
