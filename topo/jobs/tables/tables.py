# SPDX-License-Identifier: Apache-2.0
"""Every measured table in a text, whichever program printed it and whatever stands around and between its rows."""

from collections.abc import Iterable

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.tables.documents import Documents
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

BEFORE = 1 << 16
"""Bytes of an earlier block that are read with the first one that has a word of a format: a heading may be in them."""
ENDS = (*(b"%d" % digit for digit in range(10)), b"N/A", b"*", b"inf", b"nan", b"Pass", b"Fail", b"}")
BLANKS, NEAR_BEGIN = b"    ", 96
"""What a row that a message of NCCL cuts into has near its beginning, and most such messages have not."""


def read_tables(source: str | bytes | Iterable[bytes]) -> list[MeasuredTable]:
    """The tables of a text, or of the blocks of a file in any sizes, in the order in which they begin. Never raises."""
    if isinstance(source, str):
        source = source.encode(errors="replace")
    tables = Tables()
    for block in whole_lines([source] if isinstance(source, bytes) else source):
        tables.take(block)
    return tables.found()


class Tables:
    """Tables out of a file, by blocks of whole lines; blocks before the first word of a format are not split."""

    def __init__(self) -> None:
        matrices, mscclpp = NvbandwidthReader(), MscclppReader()
        self._texts = (NcclTestsReader(), matrices, PerftestReader(), OsuReader(), mscclpp, ParamReader())
        self._objects = (InspectorReader(), NcclTestsDocuments(), matrices, mscclpp)
        self._readers = (*self._texts, *self._objects[:2])
        self._words = {word for reader in self._readers for word in reader.words}
        self._marks = tuple({mark for reader in self._texts for mark in reader.marks})
        self._documents = Documents()
        self._number = 0
        self._begun = False
        self._before = b""

    def take(self, block: bytes) -> None:
        """Take in whole lines."""
        if not self._begun:
            self._begun = any(word in block for word in self._words)
            if not self._begun:
                self._number += block.count(b"\n")
                self._before = block[-BEFORE:].partition(b"\n")[2] if len(block) > BEFORE else block
                return
            self._number -= self._before.count(b"\n")
            block = self._before + block
        for raw in block.removesuffix(b"\n").split(b"\n"):
            self._number += 1
            if self._documents.begun or self._may_tell(raw):
                self._take_line(raw)

    def _may_tell(self, raw: bytes) -> bool:
        """Whether a line may be of a table: a row, which ends in a figure, or another line of a format."""
        if b"CCL INFO" in raw and BLANKS not in raw[:NEAR_BEGIN]:
            return b"CCL version" in raw
        return raw.rstrip().endswith(ENDS) or any(mark in raw for mark in self._marks)

    def _take_line(self, raw: bytes) -> None:
        line = text_line(raw, self._number)
        for reader in self._texts:
            reader.take(line)
        if (found := self._documents.take(line)) is not None:
            any(reader.take_document(found, self._documents.number) for reader in self._objects)

    def found(self) -> list[MeasuredTable]:
        """The tables so far."""
        return sorted((table for reader in self._readers for table in reader.tables()), key=lambda table: table.line)
