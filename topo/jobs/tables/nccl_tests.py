# SPDX-License-Identifier: Apache-2.0
"""Tables of nccl-tests and rccl-tests 2.0 to 2.19, as text: parameters, "Using devices", columns, rows and a footer.

Each part may be missing, as in what people paste, and messages of NCCL may stand between and within its lines. Releases
before 2.17 do not name the test: the command does, or what the columns show (`inferred`).
"""

import re
from enum import IntEnum

from railgauge.topo.jobs.tables.devices import DEVICE, Devices
from railgauge.topo.jobs.tables.draft import Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.inferred import inferred_collective
from railgauge.topo.jobs.tables.nccl_columns import RowReader, columns_of, finite
from railgauge.topo.jobs.tables.nccl_command import CommandLine, command_line
from railgauge.topo.jobs.tables.nccl_release import release_of_code
from railgauge.topo.jobs.tables.table import MeasuredTable, Program
from railgauge.topo.jobs.tables.text_line import TextLine

VERSION = re.compile(r"\b(nccl|rccl)-tests version (\S{1,128})(?:.{1,64}[nr]ccl-library=(\d{1,9}))?")
RCCL_TESTS = re.compile(r"rccl-tests: Version (\S{1,128})")
LIBRARY = re.compile(r"\b[NR]CCL version *:? *(\d{1,3}\.\d{1,3}\.\d{1,3})")
NAMED = re.compile(r"Collective test (starting|concluded): (\w{1,64})")
COMMAND = re.compile(r"\b([a-z]\w{1,32}_perf(?:_\w{1,16})?)\b")
PARAMETERS = re.compile(r"\bnThread \d{1,9} nGpus (\d{1,9}) minBytes ")
PARAMETER = re.compile(r"\b(warmup iters|agg iters|iters|validation): (\d{1,9})\b")
OUT_OF_BOUNDS = re.compile(r"Out of bounds values *: *(\d{1,18})\b")
AVERAGE = re.compile(r"Avg bus bandwidth *: *(\d{1,18}(?:\.\d{1,18})?(?:e[+-]\d{1,3})?)")
AROUND_ROWS = ("ccl-tests", "CCL version", "Collective test", "nThread ", "_perf", "bounds", "Avg ")
NEAR = 1000
"""Lines within which a command is that of the table below it."""
MOST_STREAMS = 1 << 10


class _Part(IntEnum):
    """Parts of a table in the order in which they are printed."""

    VERSION = 1
    NAME = 2
    PARAMETERS = 3
    DEVICES = 4
    COLUMNS = 5
    ROWS = 6
    FOOTER = 7


ONCE = (_Part.VERSION, _Part.NAME, _Part.PARAMETERS)


class _Stream:
    """What one process printed: the table that is open or was last, and its devices."""

    def __init__(self) -> None:
        self.label = ""
        self.rows = RowReader()
        self.part = _Part.FOOTER
        self.table = DraftTable(Program.NCCL_TESTS, 0)
        self.devices = Devices()


class NcclTestsReader:
    """Tables of nccl-tests and rccl-tests out of lines in their order."""

    marks = (
        b"ccl-tests",
        b"CCL version",
        b"Collective test",
        b"_perf",
        b"nThread ",
        b"Rank ",
        b"bw",
        b"in-place",
        b"bounds",
        b"Avg ",
    )

    def __init__(self) -> None:
        self._drafts = Drafts(Program.NCCL_TESTS)
        self._streams: dict[str, _Stream] = {}
        self._new = _Stream()
        self._command, self._command_line, self._said = "", -NEAR, CommandLine()

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        for draft in self._drafts.all:
            draft.collective = collective_named(draft.test) if draft.test else inferred_collective(draft)
        return self._drafts.tables()

    def take(self, line: TextLine) -> None:
        """Take in a line."""
        stream = self._streams.get(line.stream)
        if stream is None:
            stream, self._new.label = self._new, line.stream
        text = line.text
        if row := stream.rows.take(text):
            self._table(stream, _Part.ROWS, line.number).add(row)
        elif "bw" in text and (columns := columns_of(text)) and columns.words:
            table = self._table(stream, _Part.COLUMNS, line.number)
            table.cpu_time, table.words = columns.cpu_time, columns.words
            stream.rows.columns = columns
        elif "in-place" in text:
            stream.rows.in_place_alone = "out-of-place" not in text
        elif "Rank" in text and (found := DEVICE.search(text)):
            self._device(stream, found, line.number)
        elif any(word in text for word in AROUND_ROWS):
            self._heading(stream, text, line.number)
            _footer(stream, text)

    def _table(self, stream: _Stream, part: _Part, number: int) -> DraftTable:
        """The table that a part belongs to: a new one where it cannot follow in the open one."""
        if part < stream.part or (part == stream.part and part in ONCE):
            stream.table, stream.devices = self._drafts.begin(number), Devices()
            self._remember(stream)
            if number - self._command_line < NEAR:
                stream.table.test = self._command
                stream.table.symmetric, stream.table.zero_cta = self._said
        stream.part = part
        return stream.table

    def _remember(self, stream: _Stream) -> None:
        """Keep a stream that prints tables; the oldest makes room."""
        if stream is self._new:
            self._new = _Stream()
            if len(self._streams) >= MOST_STREAMS:
                del self._streams[next(iter(self._streams))]
        self._streams[stream.label] = stream

    def _heading(self, stream: _Stream, text: str, number: int) -> None:
        if found := VERSION.search(text):
            table = self._table(stream, _Part.VERSION, number)
            table.program = Program(found[1] + "-tests")
            table.release, table.library = found[2], release_of_code(found[3])
        elif found := NAMED.search(text):
            if found[1] == "starting":
                self._table(stream, _Part.NAME, number).test = found[2]
        elif found := PARAMETERS.search(text):
            table = self._table(stream, _Part.PARAMETERS, number)
            given = {name: int(value) for name, value in PARAMETER.findall(text)}
            table.per_thread = int(found[1])
            table.iterations, table.warmup = given.get("iters"), given.get("warmup iters")
            table.checked = bool(given["validation"]) if "validation" in given else None
        elif found := RCCL_TESTS.search(text):
            if stream.part < _Part.ROWS:
                stream.table.program, stream.table.release = Program.RCCL_TESTS, found[1]
        elif found := LIBRARY.search(text):
            if stream.part < _Part.ROWS and not stream.table.library:
                stream.table.library = found[1]
        elif found := COMMAND.search(text):
            self._command, self._command_line = found[1], number
            self._said = command_line(text[found.end() :])

    def _device(self, stream: _Stream, found: re.Match[str], number: int) -> None:
        """A rank of "Using devices"."""
        table = self._table(stream, _Part.DEVICES, number)
        stream.devices.take(found, table)
        if found[7].startswith("AMD"):
            table.program = Program.RCCL_TESTS


def _footer(stream: _Stream, text: str) -> None:
    if found := OUT_OF_BOUNDS.search(text):
        stream.table.out_of_bounds = int(found[1])
    elif found := AVERAGE.search(text):
        stream.table.average_busbw_gb_per_s = finite(found[1])
        stream.table.complete = True
        stream.part = _Part.FOOTER
    elif found := NAMED.search(text):
        stream.table.test = found[2]
