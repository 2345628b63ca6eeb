# SPDX-License-Identifier: Apache-2.0
"""Tables of perftest (ib_write_bw, ib_read_lat, ib_send_bw ...), as text.

Units of src/perftest_parameters.c: MB/sec and, in later releases, MiB/sec are both 2^20 bytes/s; Gb/sec
(--report_gbits) is 1e9 bits/s. With -b a bandwidth is the sum of both directions. A latency is half a round trip, of
reads and atomics a whole one; `time_us` is the typical one (the median), with -D the average.
"""

import re

from railgauge.topo.jobs.tables.draft import Drafts, DraftTable
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.jobs.tables.text_line import TextLine

TITLE = re.compile(
    r"(?:^|>) *(RDMA_Write|RDMA_Read|Send|Atomic|Write|Read)(\w*)( .{1,40})? (BW|Latency) (?:\w{1,12} ){0,2}Test$"
)
NAMES = {"RDMA_Write": "write", "RDMA_Read": "read"}
NIC = re.compile(r"\bDevice +: (\S{1,64})")
QPS = re.compile(r"\bNumber of qps +: (\d{1,9})")
HEADING = re.compile(r"#bytes\b.{1,32}#iterations\b.{1,255}")
COLUMN = re.compile(r"#\w{1,12}|(?:BW|MsgRate|t_|99|CPU)[^\[\]#]{0,24}\[[^\]]{1,12}\]|tps average")
ROW = re.compile(r"(?:^|[\s:>|\]])(\d{1,18}) +(\d{1,18}(?: +\d{1,12}(?:\.\d{1,6})?){1,12}) *$")
GB_PER_S = {"MB/sec": 2**20 / 1e9, "MiB/sec": 2**20 / 1e9, "Gb/sec": 1 / 8}
LINE = "-" * 40
LONGEST_ROW = 512


class PerftestReader:
    """Tables of perftest out of lines in their order. Server and client may print into the same file."""

    marks = (b"#bytes", b" Test", b"----", b"Device ", b"qps", b"CUDA", b"ROCm")

    def __init__(self) -> None:
        self._drafts = Drafts(Program.PERFTEST)
        self._table: DraftTable | None = None
        self._closed: DraftTable | None = None
        self._closed_line = 0
        self._columns: list[str] = []

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        text = line.text
        if text.endswith(" Test") and (found := TITLE.search(text)):
            self._title(found, line.number)
        elif "#bytes" in text and (found := HEADING.search(text)):
            begun = self._table if self._table and not self._table.rows else None
            self._table = begun or self._drafts.begin(line.number)
            self._columns = COLUMN.findall(found[0])
        elif self._table:
            self._within(self._table, text, line.number)

    def _title(self, found: re.Match[str], number: int) -> None:
        if self._closed and self._closed_line == number - 1:
            self._closed.complete = False  # a test ends in a line of its own
        table, self._columns = self._drafts.begin(number), []
        verb, kind = NAMES.get(found[1], found[1].lower()), "bw" if found[4] == "BW" else "lat"
        table.test = f"ib_{verb}_{kind}"
        table.detail = found[0].strip("> ")
        table.directions = 2 if "Bidirectional" in found[0] else 1
        self._table = table

    def _within(self, table: DraftTable, text: str, number: int) -> None:
        if self._columns and (found := ROW.search(text[-LONGEST_ROW:])):
            self._row(table, int(found[1]), found[2].split())
        elif table.rows and LINE in text:
            table.complete = True
            self._closed, self._closed_line = table, number
            self._table, self._columns = None, []
        elif found := NIC.search(text):
            table.nic = found[1]
        elif found := QPS.search(text):
            table.qps = int(found[1])
        elif "CUDA" in text or "ROCm" in text:
            table.gpu_memory = True

    def _row(self, table: DraftTable, size: int, values: list[str]) -> None:
        names = self._columns[1:]
        if len(values) != len(names) or len(values[-1].partition(".")[2]) not in (2, 6):
            return
        named = {name.partition("[")[0].strip(): float(value) for name, value in zip(names, values, strict=True)}
        units = [unit for name in names if name.startswith("BW average") for unit in GB_PER_S if unit in name]
        if units:
            factor, peak = GB_PER_S[units[0]], named.get("BW peak")
            way = Measurement(
                algbw_gb_per_s=named["BW average"] * factor, peak_gb_per_s=peak * factor if peak else None
            )
        elif "t_typical" in named or "t_avg" in named:
            time = named.get("t_typical", named.get("t_avg"))
            way = Measurement(time_us=time, min_us=named.get("t_min"), max_us=named.get("t_max"))
        else:
            return
        if "#iterations" in named:
            table.iterations = table.iterations or int(named["#iterations"])
        table.add(TableRow(size=size, out_of_place=way))
