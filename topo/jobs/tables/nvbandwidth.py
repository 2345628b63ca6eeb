# SPDX-License-Identifier: Apache-2.0
"""Matrices of nvbandwidth 0.1 to 0.8, as text and as its JSON (-j).

A test prints one matrix or several, each below its description: GB/s (1e9 bytes, memcpy.cpp) or, of latencies, ns. Of
a bidirectional test a matrix is of one direction, except one that says Total. Sizes are not printed: 512 MiB if not set
otherwise, 64 MiB before 0.7.
"""

import re
from collections.abc import Mapping
from typing import Any

from railgauge.topo.jobs.tables.draft import MOST_DEVICES, Drafts, DraftTable
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, RankDevice, TableRow
from railgauge.topo.jobs.tables.text_line import TextLine

VERSION = re.compile(r"nvbandwidth Version: v?(\S{1,32})")
DEVICE = re.compile(
    r"^(?:Process +(\d{1,9}) \(([^)]{1,255})\): device|Device) (\d{1,9}): (\S.{0,127}?)(?: \(([0-9a-fA-F:.]{5,20})\))?$"
)
LISTED_DEVICE = re.compile(r"(\d{1,9}): (\S.{0,127}?)(?: \(([0-9a-fA-F:.]{5,20})\))?(?:: \((.{1,255})\))?")
RUNNING = re.compile(r"^(?:> *)?Running (\w{1,127})\.")
DESCRIPTION = re.compile(r"((?:memcpy|memory|multicast|Device) .{0,100}\(column\).{0,40}\((GB/s|ns)\))")
ENDS = re.compile(r"(CPU|GPU)\(row\) (<->|->|<-) (CPU|GPU)\(column\)")
COLUMNS = re.compile(r"(?:^|\s)(\d{1,4}(?: +\d{1,4})*)$")
ROW = re.compile(r"(?:^|\s)(\d{1,4})((?: +(?:\d{1,12}\.\d{2}|N/A))+)$")
SUM = re.compile(r"(?:^SUM|&&&& PERF) (\w{1,127}) (\d{1,15}\.\d{2})")
FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,17})?(?:e[+-]?\d{1,2})?")
MOST_COLUMNS = 1 << 12
BETWEEN_GPUS = "device_to_device_memcpy"
ALONE = (("GPU", "->", "GPU"), ("GPU", "<-", "GPU"))
"""Ends that only this test has; those from and to the host are also of all GPUs at once."""


class NvbandwidthReader:
    """Matrices of nvbandwidth out of lines in their order."""

    marks = (b"(column)", b"nvbandwidth", b"Running ", b"Device ", b"Process ", b"SUM ", b"PERF ")

    def __init__(self) -> None:
        self._drafts = Drafts(Program.NVBANDWIDTH)
        self._release, self._test = "", ""
        self._devices: list[RankDevice] = []
        self._table: DraftTable | None = None
        self._columns: list[str] = []
        self._unit = ""

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        text = line.text.strip()
        if '"' in text:
            return  # of JSON
        if "(column)" in text and (found := DESCRIPTION.search(text)):
            self._begin(found[1], found[2], line.number)
        elif found := SUM.search(text):
            self._end(found)
        elif self._table and not self._columns and (found := COLUMNS.search(text)):
            names = found[1].split()[:MOST_COLUMNS]
            self._columns = names if names == [str(number) for number in range(len(names))] else []
        elif self._table and (found := ROW.search(text)):
            self._row(self._table, found[1], found[2].split())
        elif found := RUNNING.match(text):
            self._test, self._table = found[1], None
        elif found := VERSION.search(text):
            self._release, self._devices, self._table = found[1], [], None
        elif found := DEVICE.match(text):
            self._device(found)

    def take_document(self, document: Mapping[str, Any], number: int) -> bool:
        """Take in the JSON of a run; False if it is another program's."""
        run = document.get("nvbandwidth")
        if not isinstance(run, Mapping):
            return False
        self._release = str(run.get("version", "")).removeprefix("v")[:32]
        listed = run.get("GPU Device list") or ()
        names = [LISTED_DEVICE.fullmatch(str(one)) for one in listed] if isinstance(listed, list) else []
        self._devices = [_rank_device(int(one[1]), one[4], int(one[1]), one[2], one[3]) for one in names if one]
        for case in run.get("testcases") or ():
            if isinstance(case, Mapping) and isinstance(case.get("bandwidth_matrix"), list):
                self._case(case, number)
        return True

    def _begin(self, description: str, unit: str, number: int) -> None:
        table = self._table = self._drafts.begin(number)
        ends = ENDS.search(description)
        alone = BETWEEN_GPUS if ends and ends.groups() in ALONE else ""
        table.release, table.test, table.detail = self._release, self._test or alone, description
        table.devices, table.ranks = self._devices, len(self._devices)
        table.nodes = len({one.host for one in self._devices})
        table.gpu_memory = "CPU" not in description
        table.directions = 2 if "Total" in description else 1
        self._columns, self._unit = [], unit

    def _row(self, table: DraftTable, label: str, values: list[str]) -> None:
        """The pairs of a row that were measured; a cut row has fewer columns."""
        if len(values) != len(self._columns):
            return
        found = ENDS.search(table.detail)
        kind, arrow, other = found.groups() if found else ("", "->", "GPU")
        for column, value in zip(self._columns, values, strict=True):
            ends = (kind + label if kind else "", other + column)
            source, target = reversed(ends) if arrow == "<-" else ends
            if value != "N/A":
                figure = float(value)
                way = Measurement(time_us=figure / 1e3) if self._unit == "ns" else Measurement(algbw_gb_per_s=figure)
                table.add(TableRow(size=0, out_of_place=way, source=source, target=target))

    def _end(self, found: re.Match[str]) -> None:
        if self._table:
            self._table.sum_gb_per_s = float(found[2]) if self._unit == "GB/s" else None
            named = self._table.test if self._table.test != BETWEEN_GPUS else ""
            self._table.test, self._table.complete = named or found[1], True
            self._table = None

    def _device(self, found: re.Match[str]) -> None:
        if len(self._devices) < MOST_DEVICES:
            self._devices.append(_rank_device(int(found[1] or found[3]), found[2], int(found[3]), found[4], found[5]))

    def _case(self, case: Mapping[str, Any], number: int) -> None:
        found = DESCRIPTION.search(str(case.get("bandwidth_description", "")))
        matrix = [row for row in case["bandwidth_matrix"] if isinstance(row, list)]
        if not found or not matrix:
            return
        self._test = str(case.get("name", ""))[:127]
        self._begin(found[1], found[2], number)
        self._columns = [str(column) for column in range(min(len(matrix[0]), MOST_COLUMNS))]
        for label, row in enumerate(matrix):
            if all(value == "N/A" or _is_figure(value) for value in row):
                self._row(self._table, str(label), row)  # type: ignore[arg-type]
        total = case.get("sum")
        if self._table:
            told = self._unit == "GB/s" and _is_figure(total)
            self._table.sum_gb_per_s = float(total) if told else None  # type: ignore[arg-type]
            self._table.complete = case.get("status") == "Passed"
        self._table = None


def _rank_device(rank: int, host: str | None, device: int, gpu: str, bus_id: str | None) -> RankDevice:
    return RankDevice(rank=rank, host=host or "", device=device, bus_id=bus_id or "", gpu=gpu)


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float | str) and bool(FIGURE.fullmatch(str(value)))
