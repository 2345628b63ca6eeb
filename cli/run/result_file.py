# SPDX-License-Identifier: Apache-2.0
"""Where a run's result goes: files, -o FILE in the format of its suffix and -J FILE as JSON; and the older result that
it is held against.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.cli.output import json_text, write_text
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.collectives.document import RunDocument

JSON = ".json"
SUFFIXES = (".svg", ".html", ".csv", JSON)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A path, and the suffix that stands for what is written there."""

    path: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is to become of a result."""

    files: tuple[ResultFile, ...] = ()
    record: str | None = None
    """--record: the path of the flight record."""
    compare: str | None = None
    """--compare: the path of the older result."""
    tolerance: float = 0.0
    """The share of its speed that may be lost."""

    @property
    def paths(self) -> list[str]:
        """All that is to be written."""
        return [*(file.path for file in self.files), *([self.record] if self.record else [])]


def parse_tolerance(percent: float) -> float:
    """Read --tolerance, as a share.

    Raises:
        UsageError: not from 0 to less than 100.
    """
    if not 0 <= percent < 100:
        raise UsageError(f"--tolerance {percent:g}: it is in percent, from 0 to less than 100")
    return percent / 100


def parse_outputs(values: Sequence[str], json_path: str) -> tuple[str, tuple[ResultFile, ...]]:
    """Read -o, which is nccl-tests' operator or a file by its suffix and may be given for each, and -J.

    The last operator counts, `sum` without one.

    Raises:
        UsageError: a name with a suffix that is no format.
    """
    redop, files = "sum", []
    for value in values:
        suffix = os.path.splitext(value)[1].lower()
        if suffix in SUFFIXES:
            files.append(ResultFile(value, suffix))
        elif suffix or os.sep in value:
            raise UsageError(f"-o {value}: neither an operator nor a file that ends in {', '.join(SUFFIXES)}")
        else:
            redop = value
    return redop, (*files, *([ResultFile(json_path, JSON)] if json_path else []))


def write(file: ResultFile, document: "RunDocument", before: "RunDocument | None") -> None:
    """Write a result; pictures have an older one beside it. UnavailableError when that fails."""
    write_text(file.path, _text(file.format, document, before))


def _text(form: str, document: "RunDocument", before: "RunDocument | None") -> str:
    if form == JSON:
        return json_text(document.to_json(), indent=None) + "\n"
    if form == ".csv":
        from railgauge.collectives.report.table import csv_text

        return csv_text(document)
    from railgauge.collectives.report import page, svg
    from railgauge.collectives.report.chart import chart

    drawn = chart(document, before)
    return svg.dumps(drawn) if form == ".svg" else page.dumps(drawn, document)
