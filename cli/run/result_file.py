# SPDX-License-Identifier: Apache-2.0
"""Where a run's result goes (-o FILE in the format of its suffix, -J FILE as JSON), and the older result that it is
compared with.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.cli.json_text import json_text
from railgauge.cli.output import write_text
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.collectives.document import RunDocument

JSON = ".json"
SUFFIXES = (".svg", ".html", ".csv", JSON)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A path and the suffix that selects its format."""

    path: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """Where a result goes, and what it is compared with."""

    files: tuple[ResultFile, ...] = ()
    record: str | None = None
    """--record: the path of the flight record."""
    compare: str | None = None
    """--compare: the path of the older result."""
    tolerance: float = 0.0
    """The share of the older speed that may be lost, from 0 to less than 1."""
    fail_on: Level = Level.WARN
    """--fail-on: the level of the judge's findings from which the run ends with 1."""

    @property
    def paths(self) -> list[str]:
        """All files to write."""
        return [*(file.path for file in self.files), *([self.record] if self.record else [])]


def parse_tolerance(percent: float) -> float:
    """Read --tolerance (percent) as a share.

    Raises:
        UsageError: it is not from 0 to less than 100.
    """
    if not 0 <= percent < 100:
        raise UsageError(f"--tolerance {percent:g}: expected a percentage from 0 to less than 100")
    return percent / 100


def parse_outputs(values: Sequence[str], json_path: str) -> tuple[str, tuple[ResultFile, ...]]:
    """Read -J and -o; -o is nccl-tests' operator or a file, distinguished by the suffix, and may be given for each.

    The last operator counts, `sum` without one.

    Raises:
        UsageError: a file name whose suffix is no known format.
    """
    redop, files = "sum", []
    for value in values:
        suffix = os.path.splitext(value)[1].lower()
        if suffix in SUFFIXES:
            files.append(ResultFile(value, suffix))
        elif suffix or os.sep in value:
            raise UsageError(f"-o {value}: neither an operator nor a file name that ends in {', '.join(SUFFIXES)}")
        else:
            redop = value
    return redop, (*files, *([ResultFile(json_path, JSON)] if json_path else []))


def write(file: ResultFile, document: "RunDocument", before: "RunDocument | None") -> None:
    """Write a result, in pictures beside an older one. UnavailableError if that fails."""
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
