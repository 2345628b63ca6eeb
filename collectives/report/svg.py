# SPDX-License-Identifier: Apache-2.0
"""The picture of a result as SVG 1.1: text as text in the reader's fonts, light and dark by CSS, nothing loaded.

The same result gives the same bytes. Dashes and the form of the points repeat what the colours show.
"""

from collections.abc import Iterable

from railgauge.collectives.report.chart import BEFORE, Chart, Curve, CurveKind, Panel, Point
from railgauge.collectives.report.log_axis import (
    LogAxis,
    bandwidth_limits,
    bandwidth_marks,
    size_limits,
    size_marks,
    size_name,
)
from railgauge.topo.render import palette
from railgauge.topo.render.markup import SANS, Paint, escape, picture, px, themed
from railgauge.topo.render.picture.canvas import Style, TextRun

ONE, SEVERAL = (820.0, 440.0), (430.0, 280.0)
"""Width and height of a panel that is alone, or one of several."""
MOST_COLUMNS = 3
MARGIN = 16.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 40.0, 44.0
"""Margins of a panel, around its curves."""
HEADER = 92.0
SIZE_NAME_WIDTH = 54.0
ALGORITHM_WIDTH = 60.0
"""A narrower span has no space for its label."""
DASH = 16.0
"""Half the width of a curve of one size."""
NOTHING = "no bus bandwidth to show: one rank, or nothing moved"

PAINT: tuple[Paint, ...] = (
    (".page", "fill", palette.PAGE),
    ("text", "fill", palette.TEXT),
    (".quiet", "fill", palette.QUIET),
    (".grid", "stroke", palette.GRID),
    (".axis", "stroke", palette.EDGE),
    (".out", "stroke", palette.OUT_OF_PLACE),
    (".in", "stroke", palette.IN_PLACE),
    (".point.out", "fill", palette.OUT_OF_PLACE),
    (".point.in", "fill", palette.PAGE),
    (".predicted", "stroke", palette.PREDICTED),
    (".planned, .floor, .bound", "stroke", palette.LIMIT),
    (".departs", "stroke", palette.FAULTY),
)
SHAPE = f"""\
text {{ font-family: {SANS}; font-size: 11px; white-space: pre }}
.head {{ font-size: 16px; font-weight: 600 }}
.title {{ font-size: 12px; font-weight: 600 }}
.grid, .axis {{ stroke-width: 1; fill: none; shape-rendering: crispEdges }}
.curve {{ fill: none; stroke-width: 2; stroke-linejoin: round }}
.point {{ stroke-width: 1.6 }}
.predicted {{ stroke-dasharray: 2 4 }}
.planned, .floor, .bound {{ stroke-dasharray: 9 4; stroke-width: 1.5 }}
.curve.departs {{ stroke: none }}
.point.departs {{ fill: none; stroke-width: 2 }}
.before {{ stroke-width: 1.5; stroke-opacity: 0.55 }}"""


def dumps(chart: Chart) -> str:
    """The SVG document."""
    columns = min(MOST_COLUMNS, max(1, len(chart.panels)))
    width, height = ONE if len(chart.panels) <= 1 else SEVERAL
    lines = max(1, -(-len(chart.panels) // columns))
    total = columns * width + 2 * MARGIN, HEADER + lines * height + MARGIN
    body = [
        *_header(chart, total[0] - 2 * MARGIN),
        *(
            part
            for place, panel in enumerate(chart.panels)
            for part in _panel(
                chart,
                panel,
                MARGIN + place % columns * width,
                HEADER + place // columns * height,
                (width, height),
            )
        ),
        *([] if chart.points else [_text(MARGIN, HEADER + 24, NOTHING, "quiet")]),
    ]
    description = f"Bus bandwidth over size. {chart.command}"
    return picture(total, chart.title, description, f"{SHAPE}\n{themed(PAINT)}", body)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "", more: str = "") -> str:
    style = f' class="{kind}"' * bool(kind) + f' text-anchor="{anchor}"' * bool(anchor) + more
    return f'<text x="{px(x)}" y="{px(y)}"{style}>{escape(text)}</text>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="{kind}" d="M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}"/>'


def _header(chart: Chart, width: float) -> Iterable[str]:
    yield _text(MARGIN, 28, _cut(chart.title, Style.HEAD, width), "head")
    yield _text(MARGIN, 46, _cut(chart.command, Style.TEXT, width), "quiet")
    yield _text(MARGIN, 62, _cut(chart.remark, Style.TEXT, width), "quiet")
    x = MARGIN
    for names, label in _legend(chart):
        for place, name in enumerate(names):
            yield _line(f"curve {name}", x, 80 + 4 * place, x + 26, 80 + 4 * place)
            yield from _marker(name, x + 13, 80)
        yield _text(x + 32, 84, label)
        x += 46 + TextRun(text=label).width


def _legend(chart: Chart) -> Iterable[tuple[tuple[str, ...], str]]:
    """Classes of lines, and their labels."""
    kinds = chart.kinds
    yield from (((kind,), kind.label) for kind in kinds if kind not in BEFORE)
    if before := tuple(kind for kind in kinds if kind in BEFORE):
        yield before, "before"
    if chart.planned_gb_per_s and chart.points:
        yield ("planned",), f"planned between nodes, {chart.planned_gb_per_s:.3g} GB/s"


def _cut(text: str, style: Style, width: float) -> str:
    """A text, shortened to fit."""
    if TextRun(text=text, style=style).width <= width:
        return text
    while text and TextRun(text=f"{text}...", style=style).width > width:
        text = text[:-1]
    return f"{text}..."


def _panel(chart: Chart, panel: Panel, x: float, y: float, size: tuple[float, float]) -> Iterable[str]:
    if not chart.points:
        return
    values = [point.gb_per_s for point in chart.points] + [chart.planned_gb_per_s] * bool(chart.planned_gb_per_s)
    sizes = [point.bytes for point in chart.points]
    across = LogAxis(*size_limits(sizes), x + LEFT, x + size[0] - RIGHT)
    up = LogAxis(*bandwidth_limits([value for value in values if value]), y + size[1] - BOTTOM, y + TOP)
    yield _text(across.start, y + 14, panel.title, "title")
    yield from _grid(across, up, size_marks(sizes, int((across.end - across.start) / SIZE_NAME_WIDTH)))
    yield from _algorithms(panel, across, up)
    if chart.planned_gb_per_s:
        at = up.at(chart.planned_gb_per_s)
        yield _line("curve planned", across.start, at, across.end, at)
    for curve in panel.curves:
        yield from _curve(curve, across, up)


def _grid(across: LogAxis, up: LogAxis, marks: list[int]) -> Iterable[str]:
    for mark, named in bandwidth_marks(up.low, up.high):
        at = up.at(mark)
        if named:
            yield _line("grid", across.start, at, across.end, at)
            yield _text(across.start - 8, at + 4, _plain(mark), "quiet", "end")
        else:
            yield _line("axis", across.start - 3, at, across.start, at)
    for size in marks:
        at = across.at(size)
        yield _line("grid", at, up.start, at, up.end)
        yield _text(at, up.start + 16, size_name(size), "quiet", "middle")
    yield _line("axis", across.start, up.start, across.end, up.start)
    yield _line("axis", across.start, up.start, across.start, up.end)
    yield _text((across.start + across.end) / 2, up.start + 34, "bytes", "quiet", "middle")
    middle, left = (up.start + up.end) / 2, across.start - LEFT + 12
    turned = f' transform="rotate(-90 {px(left)} {px(middle)})"'
    yield _text(left, middle, "bus bandwidth, GB/s", "quiet", "middle", turned)


def _plain(value: float) -> str:
    """0.001, 0.5 or 20: no exponent."""
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _algorithms(panel: Panel, across: LogAxis, up: LogAxis) -> Iterable[str]:
    """Which algorithm ran which sizes: labels above, with a line where another begins."""
    left = across.start
    spans = [span for span in panel.spans if span.last > 0]
    for span, following in zip(spans, [*spans[1:], *[None] * bool(spans)], strict=True):
        right = across.at((span.last * following.first) ** 0.5) if following else across.end
        if following:
            yield _line("axis", right, up.end, right, up.end - 14)
        if right - left >= ALGORITHM_WIDTH:
            yield _text((left + right) / 2, up.end - 5, span.algorithm, "quiet", "middle")
        left = right


def _curve(curve: Curve, across: LogAxis, up: LogAxis) -> Iterable[str]:
    places = [(across.at(point.bytes), up.at(point.gb_per_s)) for point in curve.points]
    ends = [(x + by, y) for x, y in places for by in (-DASH, DASH)] if len(places) == 1 else places
    yield f'<path class="curve {curve.kind}" d="M{"L".join(f"{px(x)} {px(y)}" for x, y in ends)}"/>'
    for point, (x, y) in zip(curve.points, places, strict=True):
        yield from _marker(curve.kind, x, y, point)


def _marker(kind: str, x: float, y: float, point: Point | None = None) -> Iterable[str]:
    """A full circle out of place, an empty square in place, a ring where a curve departs; others are lines alone."""
    note = f"<title>{escape(point.note)}</title>" if point else ""
    if kind == CurveKind.OUT_OF_PLACE:
        yield f'<circle class="point {kind}" cx="{px(x)}" cy="{px(y)}" r="3.2">{note}</circle>'
    elif kind == CurveKind.DEPARTS:
        yield f'<circle class="point {kind}" cx="{px(x)}" cy="{px(y)}" r="7">{note}</circle>'
    elif kind == CurveKind.IN_PLACE:
        yield f'<rect class="point {kind}" x="{px(x - 3)}" y="{px(y - 3)}" width="6" height="6">{note}</rect>'
