# SPDX-License-Identifier: Apache-2.0
"""What a picture consists of once it is laid out: boxes with rows of text, frames, strokes and labels, in pixels.

Fonts are the reader's, so widths of text are estimates on the safe side: DejaVu Sans, about the widest in use.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, LinkKind, NodeKind

Point = tuple[float, float]


class Style(StrEnum):
    """How a text is set; also its class in the SVG."""

    HEAD = "head"
    TITLE = "title"
    TEXT = "text"
    CODE = "code"
    BAD = "bad"
    SMALL = "small"


SIZES = {Style.HEAD: 18.0, Style.TITLE: 13.0, Style.TEXT: 11.0, Style.CODE: 10.5, Style.BAD: 11.0, Style.SMALL: 10.0}
EM = {Style.HEAD: 0.70, Style.TITLE: 0.70, Style.BAD: 0.70, Style.CODE: 0.62}  # width of a mean character, bold 0.70
EM_PLAIN = 0.62
ROW = 15.5
PAD = 9.0
THINNEST = 1.2
BETWEEN = 9.0  # from one piece of a row to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """Some text in one style."""

    text: str
    style: Style = Style.TEXT

    @property
    def width(self) -> float:
        """Pixels it may need; characters beyond Latin count as a whole em."""
        em = EM.get(self.style, EM_PLAIN)
        return sum(SIZES[self.style] * (em if ord(char) < 0x2000 else 1.3) for char in self.text)


Row = tuple[TextRun, ...]


def row_width(row: Row) -> float:
    """Pixels a row may need."""
    return sum(piece.width for piece in row) + BETWEEN * (len(row) - 1)


def rows_height(count: int) -> float:
    """Pixels a box with so many rows is high."""
    return ROW * count + PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One part: its rectangle and its rows, centred or from the left; `note` is what hovering shows."""

    id: str
    kind: NodeKind
    x: float
    y: float
    width: float
    height: float
    rows: tuple[Row, ...]
    note: str
    centred: bool
    bad: bool = False

    @property
    def middle(self) -> Point:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A rectangle around what belongs together: a NUMA node, or a host with its name above or below."""

    x: float
    y: float
    width: float
    height: float
    label: str = ""
    label_below: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """A wire as a line through points; the label, if any, stands across the line at `label_at`.

    `share`: of the wire that channels use, None in a picture without channels; `channels`: which ones.
    """

    points: tuple[Point, ...]
    kind: LinkKind
    width: float
    note: str = ""
    bad: bool = False
    share: float | None = None
    channels: tuple[int, ...] = ()
    label: str = ""
    label_at: Point = (0.0, 0.0)

    @property
    def length(self) -> float:
        """Pixels along the line, whose pieces are level or upright."""
        return sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(self.points))


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Text that stands alone, from x to the right, its baseline at y."""

    x: float
    y: float
    piece: TextRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """Everything with its place."""

    width: float
    height: float
    title: str
    description: str
    frames: tuple[Frame, ...]
    strokes: tuple[Stroke, ...]
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]


def stroke_width(gb_per_s: float) -> float:
    """Pixels of a wire by its bandwidth: with the square root, so that 1 and 1000 GB/s both can be seen.

    What NCCL's model does not limit is no figure and stays thin.
    """
    if gb_per_s >= LOCAL_GB_PER_S:
        return THINNEST
    return round(min(THINNEST + math.sqrt(gb_per_s) * 0.38, 11.0), 2)
