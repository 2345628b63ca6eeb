# SPDX-License-Identifier: Apache-2.0
"""Every colour that railgauge shows: styles on a terminal, and colours of pages and pictures, light and dark.

Colour never carries meaning alone: words, dashes or the form of points repeat it.
"""

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from railgauge.topo.findings.finding import Level
from railgauge.topo.nccl.graph.model import LinkKind, NodeKind


class Ink(StrEnum):
    """Styles on a terminal, in Rich's words."""

    PLAIN = ""
    HEADING = "bold"
    GOOD = "green"
    WARNING = "yellow"
    STRONG_WARNING = "bold yellow"
    BAD = "red"
    STRONG_BAD = "bold red"
    NOTE = "cyan"
    UNKNOWN = "magenta"
    QUIET = "dim"


Line: TypeAlias = Sequence[tuple[str, Ink]]
"""One line of text: its pieces, each with its ink."""


def line(text: str, ink: Ink = Ink.PLAIN) -> Line:
    """A line of one piece."""
    return ((text, ink),)


def text_of(shown: Line) -> str:
    """A line without its inks."""
    return "".join(text for text, _ in shown).rstrip()


LEVEL_INKS: Mapping[Level, Ink] = {
    Level.FAIL: Ink.STRONG_BAD,
    Level.WARN: Ink.WARNING,
    Level.INFO: Ink.NOTE,
    Level.PASS: Ink.GOOD,
    Level.UNKNOWN: Ink.UNKNOWN,
}
NODE_INKS: Mapping[NodeKind, Ink] = {
    NodeKind.GPU: Ink.GOOD,
    NodeKind.HOST: Ink.GOOD,
    NodeKind.NET: Ink.NOTE,
    NodeKind.CPU: Ink.HEADING,
}
PATH_INKS: Mapping[str, Ink] = {
    "SYS": Ink.BAD,
    "NODE": Ink.WARNING,
    "PHB": Ink.WARNING,
    "PXB": Ink.NOTE,
    "PIX": Ink.NOTE,
    "X": Ink.QUIET,
}


def path_ink(cell: str) -> Ink:
    """The ink of a cell of the matrix: NVLinks are NV and their number."""
    return Ink.GOOD if cell.startswith("NV") else PATH_INKS.get(cell, Ink.PLAIN)


class Colour(NamedTuple):
    """A colour on a light page and on a dark one, as CSS writes it."""

    light: str
    dark: str


PAGE = Colour("#ffffff", "#0d1117")
ON_FILL = "#ffffff"  # text on a coloured ground, in both themes
TEXT = Colour("#1f2328", "#e6edf3")
QUIET = Colour("#59636e", "#9aa6b2")
RULE = Colour("#d8dee4", "#2a323d")
WRONG = Colour("#c0141f", "#ff7b72")
FAULTY = Colour("#d1242f", "#ff6b62")
FRAME = Colour("#f6f8fa", "#12171e")
EDGE = Colour("#8c959f", "#6e7681")
GRID = Colour("#e4e8ec", "#222a33")
FAR = Colour("#fbf0dc", "#33270f")

FILLS: Mapping[NodeKind, Colour] = {
    NodeKind.CPU: Colour("#e7ecf2", "#1f2937"),
    NodeKind.MEM: Colour("#e7ecf2", "#1f2937"),
    NodeKind.PCI: Colour("#ece8f8", "#262040"),
    NodeKind.GPU: Colour("#e3f4da", "#15301a"),
    NodeKind.HOST: Colour("#e3f4da", "#15301a"),
    NodeKind.NIC: Colour("#dcf0f8", "#0f2d3d"),
    NodeKind.NVS: Colour("#cdebbd", "#1d4423"),
}
EDGES: Mapping[NodeKind, Colour] = {
    NodeKind.CPU: Colour("#8b98a9", "#5b6b82"),
    NodeKind.PCI: Colour("#8877c4", "#8776cc"),
    NodeKind.GPU: Colour("#4a9130", "#5fae4a"),
    NodeKind.NIC: Colour("#2883a8", "#4fa3c7"),
    NodeKind.NVS: Colour("#3c7d24", "#6fbf58"),
}
WIRES: Mapping[LinkKind, Colour] = {
    LinkKind.PCI: Colour("#7b8794", "#8593a3"),
    LinkKind.NVL: Colour("#57a639", "#69b84f"),
    LinkKind.C2C: Colour("#9a57c4", "#b983dd"),
    LinkKind.SYS: Colour("#b8782c", "#cf9347"),
}
LOADS = {
    "idle": Colour("#c3cad2", "#3a434e"),
    "quarter": Colour("#5b9bd5", "#6fb1ea"),
    "half": Colour("#2f6fb5", "#3f8ede"),
    "most": Colour("#e08a1e", "#f0a33c"),
    "full": Colour("#b8431f", "#f2703f"),
    "over": Colour("#d1007a", "#ff5fb4"),
}
"""By how full a link is (picture/load_scale.py)."""
PASSED = Colour("#2f7d32", "#2f7d32")
CHANNEL_LUMINANCE = ((0.08, 0.30), (0.30, 0.62), (0.17, 0.45))
"""Relative luminance (WCAG 2) of channels in turn, on a light page and on a dark one: neighbours differ in grey too."""
SATURATION = 0.8
GOLDEN_TURN = 0.6180339887  # of the circle of hues: any first few are far apart


def channel_colour(number: int) -> Colour:
    """The colour of a channel: a hue of its own."""
    light, dark = CHANNEL_LUMINANCE[number % len(CHANNEL_LUMINANCE)]
    hue = (0.58 + number * GOLDEN_TURN) % 1.0
    return Colour(_hue(hue, light), _hue(hue, dark))


def _hue(hue: float, luminance: float) -> str:
    """The colour of a hue with that luminance, as CSS writes it."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if _luminance(hls_to_rgb(hue, middle, SATURATION)) < luminance:
            low = middle
        else:
            high = middle
    return "#" + "".join(f"{round(part * 255):02x}" for part in hls_to_rgb(hue, high, SATURATION))


def _luminance(rgb: tuple[float, float, float]) -> float:
    """WCAG 2: relative luminance of an sRGB colour."""
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


LEVELS: Mapping[Level, Colour] = {
    Level.FAIL: Colour("#c0141f", "#c0141f"),
    Level.WARN: Colour("#b7791f", "#b7791f"),
    Level.INFO: Colour("#2b6cb0", "#2b6cb0"),
    Level.UNKNOWN: Colour("#8250b0", "#8250b0"),
}

# Curves: Okabe and Ito's colours, which most eyes tell apart
OUT_OF_PLACE = Colour("#0072b2", "#56b4e9")
IN_PLACE = Colour("#d55e00", "#f0883e")
LIMIT = Colour("#009e73", "#3fb98f")
PREDICTED = Colour("#6e7681", "#9aa6b2")
