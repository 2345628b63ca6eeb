# SPDX-License-Identifier: Apache-2.0
"""Columns and rows of nccl-tests and of programs that print like it.

The columns are read from their heading, since releases and options change them (src/common.cu and, from 2.17.7,
src/util.cu of nccl-tests):

- before 2.13 each test has its own: redop or root, or neither, and alltoall leaves redop blank; a way ends in `error`,
  the largest deviation, from 2.13 in `#wrong`, a count of elements; both are N/A where nothing is checked
- `cputime` for `time` with -C; in place alone with -O 0 of rccl-tests; a timestamp, and i_min, i_max, i_p99 and i_cv%
  of the iterations with options of 2.17.7 and 2.19.2
- before 2.0 (2017 to 2019) `bytes N type op`, with times in ms

GB/s are 1e9 bytes, everywhere.
"""

import math
import re
from typing import NamedTuple

from railgauge.topo.jobs.tables.table import Measurement, TableRow

HEADING = re.compile(r"\b(?:size +count|(bytes) +N) +(.{1,255})")
ROW = re.compile(r"(?:^|[\s:>|\]#])(\d{1,18}) +(\d{1,18})((?: +[^\s]{1,24}){0,24}) *$")
FIGURE = re.compile(r"\d{1,18}(?:\.\d{1,18})?(?:e[+-]\d{1,3})?\*?|-?inf|-?nan|N/A")
"""The asterisk marks an error of rccl-tests that is beyond its threshold."""
ROOT = re.compile(r"-1|\d{1,4}")
INTEGER = re.compile(r"-?\d{1,9}")
WORD = re.compile(r"[a-z]\w{1,15}")
BEFORE_FIGURES = {"type", "redop", "op", "root"}
TIMES = ("time", "cputime")
OPERATIONS = {"sum", "prod", "min", "max", "avg", "mulsum", "none"}
ENDS = (*map(str, range(10)), "*", "inf", "nan", "N/A")
"""Of a row, or of one that another line cuts into."""
MOST_VALUES, LONGEST_ROW = 32, 512


class Columns(NamedTuple):
    """What a heading promises: the words before the figures, and the figures of both."""

    words: tuple[str, ...]
    ways: tuple[tuple[str, ...], ...]
    stamped: bool = False
    """Whether a date and a time follow."""
    us: float = 1.0
    """Microseconds of a unit of time."""

    @property
    def figures(self) -> int:
        """How many figures a row has."""
        return sum(map(len, self.ways))

    @property
    def cpu_time(self) -> bool:
        """Whether the times are of the CPU."""
        return self.ways[0][0] == TIMES[1]


WAY = ("time", "algbw", "busbw", "#wrong")
OLD_WAY = (*WAY[:3], "error")
WITHOUT_HEADING = (
    Columns(("type", "redop", "root"), (WAY, WAY)),
    Columns(("type", "redop"), (OLD_WAY, OLD_WAY)),
)
"""What rows are read by whose heading is not there: of 2.13 on, and before."""


def columns_of(text: str) -> Columns | None:
    """The columns that a heading names; None if it is none, or another program's."""
    found = HEADING.search(text)
    if not found:
        return None
    names = found[2].split()
    stamped = names[-1] == "timestamp"
    figures = names[: len(names) - stamped]
    if any(name.startswith(figures[-1]) and name != figures[-1] for name in (*TIMES, *OLD_WAY, *WAY)):
        return None  # wrapped
    begins = [place for place, name in enumerate(figures) if name in TIMES]
    ends = [*begins[1:], len(figures)]
    ways = tuple(tuple(figures[begin:end]) for begin, end in zip(begins, ends, strict=False))
    if len(ways) not in (1, 2) or any(way[1:3] != WAY[1:3] for way in ways):
        return None
    words = tuple(figures[: begins[0]])
    return Columns(words, ways, stamped, 1e3 if found[1] else 1.0) if BEFORE_FIGURES.issuperset(words) else None


class Begun(NamedTuple):
    """A row, or the beginning of one that another line cut into: size, count, and what came behind them so far."""

    size: int
    elements: int
    values: tuple[str, ...]


class RowReader:
    """Rows out of the lines of one process, also those that other lines cut into."""

    def __init__(self) -> None:
        self.columns: Columns | None = None
        self.in_place_alone = False
        self._begun: Begun | None = None

    def take(self, text: str) -> TableRow | None:
        """The row that a line is, or ends."""
        if not text.endswith(ENDS):
            return None
        if found := ROW.search(text[-LONGEST_ROW:]):
            begun = Begun(int(found[1]), int(found[2]), tuple(found[3].split()))
        elif self._begun and all(map(FIGURE.fullmatch, values := tuple(text.split()[:MOST_VALUES]))):
            begun = self._begun._replace(values=self._begun.values + values)
        else:
            return None
        columns = self.columns or _without_heading(begun)
        self._begun = begun if columns and _goes_on(begun, columns) else None
        return row_of(begun, columns, in_place_alone=self.in_place_alone) if columns else None


def row_of(begun: Begun, columns: Columns, *, in_place_alone: bool = False) -> TableRow | None:
    """A row; None if it is cut, garbled, or not of these columns."""
    words, figures = _parted(begun.values, columns)
    if len(figures) != columns.figures or not all(map(FIGURE.fullmatch, figures)):
        return None
    named = dict(zip(columns.words, words, strict=False))
    root = named.pop("root", "")
    if (root and not INTEGER.fullmatch(root)) or not all(map(WORD.fullmatch, named.values())):
        return None
    first = len(columns.ways[0])
    ways = [_measurement(columns.ways[0], figures[:first], columns.us)]
    if len(columns.ways) > 1:
        ways.append(_measurement(columns.ways[1], figures[first:], columns.us))
    elif in_place_alone:
        ways.insert(0, Measurement())
    return TableRow(
        size=begun.size,
        out_of_place=ways[0],
        in_place=ways[1] if len(ways) > 1 else None,
        dtype=named.get("type", ""),
        redop=named.get("redop", named.get("op", "")),
        root=int(root) if root else None,
        count=begun.elements,
    )


def _goes_on(begun: Begun, columns: Columns) -> bool:
    """Whether more may follow of a row: its type is there, and figures are missing."""
    words, figures = begun.values[:1], len(begun.values) - len(columns.words)
    return columns.words[:1] == ("type",) and all(map(WORD.fullmatch, words)) and figures < columns.figures


def _without_heading(begun: Begun) -> Columns | None:
    """The columns of a row whose heading is missing; a time has a point or five digits, a root has not."""
    if len(begun.values) < 3 or begun.values[1] not in OPERATIONS:
        return None
    return WITHOUT_HEADING[0 if ROOT.fullmatch(begun.values[2]) else 1]


def _parted(values: tuple[str, ...], columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words and the figures of a row: old releases name redop and leave it blank."""
    values = values[: len(values) - 2 * columns.stamped]
    words = len(columns.words)
    if columns.words[1:] == ("redop",) and len(values) == 1 + columns.figures:
        words = 1
    return values[:words], values[words:]


def _measurement(names: tuple[str, ...], figures: tuple[str, ...], us: float) -> Measurement:
    values = {name: finite(figure) for name, figure in zip(names, figures, strict=True)}
    time, algbw, busbw = (values[name] for name in names[:3])
    last = values.get(names[3]) if len(names) > 3 else None
    counted = len(names) > 3 and names[3] == WAY[3]
    return Measurement(
        time_us=None if time is None else time * us,
        algbw_gb_per_s=algbw,
        busbw_gb_per_s=busbw,
        wrong=int(last) if last is not None and (counted or not last) else None,
        largest_error=None if counted else last,
        min_us=values.get("i_min"),
        max_us=values.get("i_max"),
    )


def finite(text: str) -> float | None:
    """A figure; None for N/A and what no clock shows."""
    number = math.nan if text == "N/A" else float(text.rstrip("*"))
    return number if math.isfinite(number) else None
