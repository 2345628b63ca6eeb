# SPDX-License-Identifier: Apache-2.0
"""Every measured table in a text, whichever program printed it and whatever stands around and between its rows."""

from collections.abc import Iterable

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.tables.nccl_tests import NcclTestsReader
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.jobs.tables.text_line import text_line


def read_tables(source: str | bytes | Iterable[bytes]) -> list[MeasuredTable]:
    """The tables of a text, or of a file's blocks (of any size), in the order in which they begin. Never raises."""
    if isinstance(source, str):
        source = source.encode(errors="replace")
    tables = Tables()
    for block in whole_lines([source] if isinstance(source, bytes) else source):
        tables.take(block)
    return tables.found()


class Tables:
    """Tables out of a file, block by block; blocks before the first word of a format are not split into lines."""

    def __init__(self) -> None:
        self._readers = (NcclTestsReader(),)
        self._number = 0
        self._open = False

    def take(self, block: bytes) -> None:
        """Take in lines."""
        lines = block.count(b"\n")
        self._open = self._open or any(word in block for reader in self._readers for word in reader.words)
        if self._open:
            for number, raw in enumerate(block.splitlines(), self._number + 1):
                line = text_line(raw, number)
                for reader in self._readers:
                    reader.take(line)
        self._number += lines

    def found(self) -> list[MeasuredTable]:
        """The tables so far."""
        return sorted((table for reader in self._readers for table in reader.tables()), key=lambda table: table.line)
