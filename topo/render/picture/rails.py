# SPDX-License-Identifier: Apache-2.0
"""A cluster as an SVG: a row for equal nodes, a column for each GPU and each rail, and where something is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.findings.finding import Level
from railgauge.topo.render import palette
from railgauge.topo.render.markup import MONO, SANS, escape, picture, px, themed
from railgauge.topo.values.node_names import folded

CELL, ROW, TOP, LABEL, CHARACTER = 44, 30, 64, 24, 7.3
"""Pixels: a column, a row, the head, the space left of labels, a character of a label."""
LONGEST = 40
"""Characters of a row's nodes; all of them are in its title."""
RADIUS = 8.5


class CellState(StrEnum):
    """What is known of a device of a node."""

    GOOD = "good"
    WARN = "WARN"
    FAIL = "FAIL"
    MISSING = "missing"
    UNREAD = "unread"


SIGNS = {CellState.WARN: "!", CellState.FAIL: "×", CellState.MISSING: "−", CellState.UNREAD: "?"}
"""Colour never carries meaning alone."""
COLOURS = {
    CellState.GOOD: palette.PASSED,
    CellState.WARN: palette.LEVELS[Level.WARN],
    CellState.FAIL: palette.LEVELS[Level.FAIL],
    CellState.MISSING: palette.WRONG,
    CellState.UNREAD: palette.LEVELS[Level.UNKNOWN],
}
STYLE = (
    themed(
        [
            (".page", "fill", palette.PAGE),
            (".label, .head", "fill", palette.TEXT),
            (".rail", "stroke", palette.EDGE),
            *((f".{state}", "fill", colour) for state, colour in COLOURS.items()),
            (f".{CellState.MISSING}", "stroke", palette.WRONG),
        ]
    )
    + f"""
.label {{ font: 12px {MONO} }}
.head {{ font: 600 11px {SANS}; text-anchor: middle }}
.rail {{ stroke-width: 2 }}
.{CellState.MISSING} {{ fill: none; stroke-width: 2; stroke-dasharray: 3 2 }}
.sign {{ font: 700 12px {SANS}; text-anchor: middle; fill: {palette.ON_FILL} }}
.sign.{CellState.MISSING} {{ fill: {palette.WRONG.light}; stroke: none }}"""
)


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Equal nodes, and the state of each column, with a note for its tip."""

    nodes: tuple[str, ...]
    cells: Mapping[str, tuple[CellState, str]]


def rails(rows: Sequence[ClusterRow], columns: Sequence[str], rail_columns: frozenset[str], title: str) -> str:
    """The picture. columns: "node", GPUs, then NICs, of which `rail_columns` are joined by a line through all nodes."""
    labels = [_label(row.nodes) for row in rows]
    left = LABEL + CHARACTER * max((len(text) for text in labels), default=0) + 12
    size = (left + CELL * len(columns) + LABEL, TOP + ROW * len(rows) + 16)
    at = {name: left + CELL * place + CELL / 2 for place, name in enumerate(columns)}
    body = [*_heads(at), *_rails(at, rail_columns, rows)]
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = TOP + ROW * place + ROW / 2
        body.append(
            f'<text class="label" x="{LABEL}" y="{px(y + 4)}">{escape(label)}'
            f"<title>{escape(folded(row.nodes))}</title></text>"
        )
        body += [_cell(at[name], y, *row.cells[name]) for name in columns if name in row.cells]
    signs = ", ".join(f"{sign} {state}" for state, sign in SIGNS.items())
    return picture(size, title, f"A row for equal nodes, a column for each GPU and rail. {signs}", STYLE, body)


def _label(nodes: Sequence[str]) -> str:
    text = f"{folded(nodes)}{f' ({len(nodes)})' if len(nodes) > 1 else ''}"
    return text if len(text) <= LONGEST else f"{nodes[0]} and {len(nodes) - 1} more"


def _heads(at: Mapping[str, float]) -> Iterator[str]:
    for place, (name, x) in enumerate(at.items()):
        y = TOP - 12 - 16 * (place % 2)  # names are wider than a column
        yield f'<text class="head" x="{px(x)}" y="{px(y)}">{escape(name)}</text>'


def _rails(at: Mapping[str, float], joined: frozenset[str], rows: Sequence[ClusterRow]) -> Iterator[str]:
    for name in at:
        if name in joined and len(rows) > 1:
            y1, y2 = TOP + ROW / 2, TOP + ROW * (len(rows) - 0.5)
            yield (
                f'<line class="rail" x1="{px(at[name])}" y1="{px(y1)}" x2="{px(at[name])}" y2="{px(y2)}">'
                f"<title>rail {escape(name)}</title></line>"
            )


def _cell(x: float, y: float, state: CellState, note: str) -> str:
    tip = f"<title>{escape(note)}</title>" if note else ""
    dot = f'<circle class="{state}" cx="{px(x)}" cy="{px(y)}" r="{RADIUS}">{tip}</circle>'
    sign = SIGNS.get(state)
    return dot + (f'<text class="sign {state}" x="{px(x)}" y="{px(y + 4)}">{sign}{tip}</text>' if sign else "")
