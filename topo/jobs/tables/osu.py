# SPDX-License-Identifier: Apache-2.0
"""Tables of the OSU micro-benchmarks (osu_bw, osu_latency, osu_allreduce ...) 3 to 7, as text.

MB/s are 1e6 bytes/s; those of osu_bibw sum both directions, those of osu_mbw_mr all pairs. A latency between two ranks
is half a round trip. Sizes of allgather, alltoall, gather and scatter are of what one rank sends to one.
"""

import re

from railgauge.topo.jobs.tables.draft import Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.jobs.tables.text_line import TextLine
from railgauge.topo.nccl.settings.algorithm import Collective

TITLE = re.compile(
    r"# OSU (?:MPI|OpenSHMEM|NCCL|UPC\+?\+?)(?:-?(CUDA|ROCM|OPENACC|ZE|SYCL|Accelerator)\w{0,16})? "
    r"(.{1,64}?) Test(?: v(\S{1,32}))?$",
    re.IGNORECASE,
)
POINT_TO_POINT = {
    "Latency": "osu_latency",
    "Multi Latency": "osu_multi_lat",
    "Bandwidth": "osu_bw",
    "Bi-Directional Bandwidth": "osu_bibw",
    "Multiple Bandwidth / Message Rate": "osu_mbw_mr",
}
COLLECTIVES = {"All-to-All Personalized Exchange": "alltoall", "Broadcast": "bcast"}
PAIRS = re.compile(r"\[ *pairs: (\d{1,9}) *\]")
BUFFERS = re.compile(r"Send Buffer on (\w{1,16}) .{1,40}Receive Buffer on (\w{1,16})")
HEADING = re.compile(r"# *Size +(\S.{0,255})")
COLUMN = re.compile(r" *(Iterations|Validation|MB/s|Messages/s|[^()]{1,24}?\([^)]{1,8}\)|\S{1,32})")
ROW = re.compile(r"(?:^|[\s:>|])(\d{1,18})((?: +(?:\d{1,15}(?:\.\d{2})?|Pass|Fail|-)){1,12}) *$")
LONGEST_ROW = 512
SHARES = (Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.GATHER, Collective.SCATTER)


class OsuReader:
    """Tables of the OSU micro-benchmarks out of lines in their order."""

    marks = (b"# ",)

    def __init__(self) -> None:
        self._drafts = Drafts(Program.OSU)
        self._table: DraftTable | None = None
        self._columns: list[str] = []

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows. Nothing ends a table: whether it broke off cannot be known."""
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        text = line.text
        if "# OSU" in text and (found := TITLE.search(text)):
            self._begin(found, line.number)
        elif self._table and "#" in text:
            self._comment(self._table, text)
        elif self._table and self._columns and text[-1:].isalnum() and (found := ROW.search(text[-LONGEST_ROW:])):
            self._row(self._table, int(found[1]), found[2].split())

    def _begin(self, found: re.Match[str], number: int) -> None:
        table = self._table = self._drafts.begin(number)
        name = found[2].removesuffix(" Latency")
        operation = COLLECTIVES.get(name, name)
        table.test = POINT_TO_POINT.get(found[2]) or "osu_" + operation.lower().replace(" ", "_")
        table.detail = found[2]
        table.collective = collective_named(table.test)
        table.sizes_are_shares = table.collective in SHARES
        table.release = found[3] or ""
        table.directions = 2 if table.test == "osu_bibw" else 1
        table.gpu_memory = True if found[1] else None
        self._columns = []

    def _comment(self, table: DraftTable, text: str) -> None:
        if found := HEADING.search(text):
            self._columns = COLUMN.findall(found[1])
        elif found := BUFFERS.search(text):
            table.gpu_memory = found[1] == found[2] == "DEVICE"
        elif found := PAIRS.search(text):
            table.ranks = 2 * int(found[1])

    def _row(self, table: DraftTable, size: int, values: list[str]) -> None:
        if len(values) != len(self._columns) or "." not in values[0]:
            return
        named = dict(zip((name.replace(" ", "") for name in self._columns), values, strict=True))
        first, figure = next(iter(named)), float(values[0])
        if "MB/s" in first:
            way = Measurement(algbw_gb_per_s=figure / 1e3)
        elif "(us)" in first:
            way = Measurement(
                time_us=figure, min_us=_figure(named, "MinLatency(us)"), max_us=_figure(named, "MaxLatency(us)")
            )
        else:
            return
        if (times := named.get("Iterations", "")).isdigit():
            table.iterations = table.iterations or int(times)
        table.add(TableRow(size=size, out_of_place=way))


def _figure(named: dict[str, str], name: str) -> float | None:
    return float(named[name]) if "." in named.get(name, "") else None
