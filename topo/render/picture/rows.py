# SPDX-License-Identifier: Apache-2.0
"""The texts of a part as rows of a box: one below the other on a card, side by side on a bar."""

from railgauge.topo.render.picture.canvas import PAD, Row, Style, TextRun, row_width
from railgauge.topo.render.picture.parts import PROBLEM, PicturePart
from railgauge.topo.values.busid import is_bus_id


def pieces(part: PicturePart) -> list[TextRun]:
    """The texts of a part: title, facts, what is wrong."""
    title = TextRun(text=part.title, style=Style.TITLE)
    return [title, *(TextRun(text=text, style=_style(what, text)) for what, text in part.facts)]


def _style(what: str, text: str) -> Style:
    if what == PROBLEM:
        return Style.BAD
    return Style.CODE if is_bus_id(text) else Style.TEXT


def card_rows(part: PicturePart) -> list[Row]:
    """One row for each text, as devices have it."""
    return [(piece,) for piece in pieces(part)]


def bar_rows(part: PicturePart, width: float) -> list[Row]:
    """Texts side by side as far as they fit, as CPUs and switches have it."""
    rows: list[Row] = []
    for piece in pieces(part):
        if rows and row_width((*rows[-1], piece)) + 2 * PAD <= width:
            rows[-1] = (*rows[-1], piece)
        else:
            rows.append((piece,))
    return rows


def rows_width(rows: list[Row]) -> float:
    """Pixels a box with these rows is wide."""
    return round(max(map(row_width, rows)) + 2 * PAD)
