# SPDX-License-Identifier: Apache-2.0
"""Every measured table in a text, whichever program printed it and whatever stands around and between its rows."""

import re
from collections.abc import Iterable

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.tables.documents import LONGEST, Documents
from railgauge.topo.jobs.tables.inspector import InspectorReader
from railgauge.topo.jobs.tables.mscclpp import MscclppReader
from railgauge.topo.jobs.tables.nccl_documents import NcclTestsDocuments
from railgauge.topo.jobs.tables.nccl_tests import NcclTestsReader
from railgauge.topo.jobs.tables.nvbandwidth import NvbandwidthReader
from railgauge.topo.jobs.tables.osu import OsuReader
from railgauge.topo.jobs.tables.param import ParamReader
from railgauge.topo.jobs.tables.perftest import PerftestReader
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.jobs.tables.text_line import text_line

NEAR = 1 << 16
"""Bytes that are searched at once for a sign of a table. As many before one with a sign are read too, and as many after
it: a heading may be in them, and the end of a table.
"""
SIGNS = {
    b"#": (b"minBytes ", b"busbw", b"Avg bus bandwidth", b"#bytes", b"# OSU "),
    b"(": (b"(column)",),
    b'"': (b'"bus', b'_perf"'),
    b"|": (b"AlgBW", b"algBW"),
}
"""Words of formats, by the character that the line of each has and lines of logs seldom have. Rows are signs too."""
ENDS = (*(b"%d" % digit for digit in range(10)), b"N/A", b"*", b"inf", b"nan", b"Pass", b"Fail", b"}")
BEFORE_THE_LAST = (*ENDS, b"-", b">:")
"""How what stands before the last figure of a row ends: a figure too, or mpirun's tag; in logs of iterations a name."""
NCCL = b"CCL INFO"
TO_SHAPE = bytes.maketrans(b"123456789", b"0" * 9)
BLANKS = b"   "
"""What every row has, also one that a message of NCCL cuts into."""


def read_tables(source: str | bytes | Iterable[bytes]) -> list[MeasuredTable]:
    """The tables of a text, or of the blocks of a file in any sizes, in the order in which they begin. Never raises."""
    if isinstance(source, str):
        source = source.encode(errors="replace")
    tables = Tables()
    for block in whole_lines([source] if isinstance(source, bytes) else source, LONGEST):
        tables.take(block)
    return tables.found()


class Tables:
    """Tables out of a file, by blocks of whole lines; what is not near a sign of a table is not split into lines."""

    def __init__(self) -> None:
        matrices, mscclpp = NvbandwidthReader(), MscclppReader()
        self._texts = (NcclTestsReader(), matrices, PerftestReader(), OsuReader(), mscclpp, ParamReader())
        self._objects = (InspectorReader(), NcclTestsDocuments(), matrices, mscclpp)
        self._readers = (*self._texts, *self._objects[:2])
        marks = {re.escape(mark) for reader in self._texts for mark in reader.marks}
        self._mark = re.compile(b"|".join(sorted(marks)))
        self._documents = Documents()
        self._number = 0
        self._before = b""
        self._after = 0

    def take(self, block: bytes) -> None:
        """Take in whole lines."""
        begin = 0
        while begin < len(block):
            end = block.find(b"\n", begin + NEAR) + 1 or len(block)
            self._take_piece(block[begin:end])
            begin = end

    def pass_over(self, lines: int) -> None:
        """So many lines follow that are of no table."""
        self._number += lines
        self._before, self._after = b"", 0

    def _take_piece(self, piece: bytes) -> None:
        if self._documents.begun or _has_sign(piece):
            self._number -= self._before.count(b"\n")
            piece, self._before, self._after = self._before + piece, b"", NEAR
        elif self._after > 0:
            self._after -= len(piece)
        else:
            self._number += piece.count(b"\n")
            self._before += piece
            if len(self._before) > 2 * NEAR:
                self._before = self._before[-NEAR:].partition(b"\n")[2]
            return
        for raw in piece.removesuffix(b"\n").split(b"\n"):
            self._number += 1
            if NCCL in raw and BLANKS not in raw and not self._documents.begun:
                continue  # as most lines are
            if self._documents.begun or self._may_tell(raw):
                self._take_line(raw)

    def _may_tell(self, raw: bytes) -> bool:
        """Whether a line may be of a table: a row, or another line of a format."""
        if NCCL in raw:
            return _cut_into(raw)
        return _like_row(raw) or raw.lstrip()[:1] == b"{" or self._mark.search(raw) is not None

    def _take_line(self, raw: bytes) -> None:
        line = text_line(raw, self._number)
        found = self._documents.take(line)
        if found and any(reader.take_document(found, self._documents.number) for reader in self._objects):
            return
        for reader in self._texts:
            reader.take(line)

    def found(self) -> list[MeasuredTable]:
        """The tables so far."""
        return sorted((table for reader in self._readers for table in reader.tables()), key=lambda table: table.line)


def _has_sign(piece: bytes) -> bool:
    """Whether a word of a format is in it, or a line like a row."""
    if any(mark in piece and any(word in piece for word in words) for mark, words in SIGNS.items()):
        return True
    if BLANKS not in piece:
        return False
    shapes = set(piece.translate(TO_SHAPE).split(b"\n"))  # lines of logs differ in their digits alone
    return any(BLANKS in shape and _like_row(shape) for shape in shapes)


def _like_row(raw: bytes) -> bool:
    """Whether a line ends in two figures, or is hardly more than one, or ends in colours."""
    if NCCL in raw:
        return _cut_into(raw)
    if not raw.rstrip().endswith(ENDS):
        return b"\x1b" in raw[-8:]
    words = raw.rsplit(None, 2)
    return len(words) < 3 or words[1].endswith(BEFORE_THE_LAST)


def _cut_into(raw: bytes) -> bool:
    """Whether a message of NCCL begins behind blanks, thus in the middle of a row."""
    return BLANKS in raw[: raw.find(NCCL)]
