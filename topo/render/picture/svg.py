# SPDX-License-Identifier: Apache-2.0
"""A canvas as SVG 1.1: text as text in the reader's fonts, light and dark by CSS, nothing loaded from anywhere.

The same canvas gives the same bytes. Colours are plain values in two style blocks, since not every viewer knows CSS
variables; what a colour says is also said by words or dashes.
"""

from railgauge.topo.render.markup import escape, quoted
from railgauge.topo.render.picture.canvas import (
    BETWEEN,
    PAD,
    ROW,
    SIZES,
    Box,
    Canvas,
    Frame,
    Label,
    Piece,
    Row,
    Stroke,
    Style,
)
from railgauge.topo.render.picture.load_scale import SCALE, load_class

SANS = 'ui-sans-serif, system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'
MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
CORNER = 6.0

# selector, property, light, dark
PAINT = (
    (".page", "fill", "#ffffff", "#0d1117"),
    (".text, .title, .head, .code", "fill", "#1f2328", "#e6edf3"),
    (".small, .quiet", "fill", "#59636e", "#9aa6b2"),
    (".bad", "fill", "#c0141f", "#ff7b72"),
    (".frame rect", "fill", "#f6f8fa", "#12171e"),
    (".host rect", "stroke", "#8c959f", "#6e7681"),
    (".halo", "stroke", "#ffffff", "#0d1117"),
    (".box.CPU rect, .box.MEM rect", "fill", "#e7ecf2", "#1f2937"),
    (".box.PCI rect", "fill", "#ece8f8", "#262040"),
    (".box.GPU rect, .box.HOST rect", "fill", "#e3f4da", "#15301a"),
    (".box.NIC rect", "fill", "#dcf0f8", "#0f2d3d"),
    (".box.NVS rect", "fill", "#cdebbd", "#1d4423"),
    (".frame rect", "stroke", "#d8dee4", "#2a323d"),
    (".box.CPU rect, .box.MEM rect", "stroke", "#8b98a9", "#5b6b82"),
    (".box.PCI rect", "stroke", "#8877c4", "#8776cc"),
    (".box.GPU rect, .box.HOST rect", "stroke", "#4a9130", "#5fae4a"),
    (".box.NIC rect", "stroke", "#2883a8", "#4fa3c7"),
    (".box.NVS rect", "stroke", "#3c7d24", "#6fbf58"),
    (".wire.PCI, .wire.MEM", "stroke", "#7b8794", "#8593a3"),
    (".wire.NVL", "stroke", "#57a639", "#69b84f"),
    (".wire.C2C", "stroke", "#9a57c4", "#b983dd"),
    (".wire.SYS", "stroke", "#b8782c", "#cf9347"),
    (".wire.faulty, .box.faulty rect", "stroke", "#d1242f", "#ff6b62"),
)
LOAD_PAINT = tuple((f".wire.{one.name}", "stroke", one.light, one.dark) for one in SCALE)
SHAPE = f"""\
text {{ font-family: {SANS}; white-space: pre }}
.code {{ font-family: {MONO} }}
.title, .head, .bad {{ font-weight: 600 }}
.box rect, .frame rect {{ stroke-width: 1.2 }}
.host rect {{ fill: none; stroke-dasharray: 2 4 }}
.wire {{ fill: none; stroke-linejoin: round }}
.wire.faulty {{ stroke-dasharray: 7 4 }}
.box.faulty rect {{ stroke-width: 2 }}
.halo {{ stroke-width: 5; stroke-linejoin: round; paint-order: stroke }}"""
OVERLOADED = ".wire.over { stroke-dasharray: 2 2 }"


def dumps(canvas: Canvas) -> str:
    """The SVG document."""
    body = [
        *map(_frame, canvas.frames),
        *map(_stroke, canvas.strokes),
        *map(_box, canvas.boxes),
        *map(_crossing_label, (stroke for stroke in canvas.strokes if stroke.label)),
        *map(_label, canvas.labels),
    ]
    width, height = _n(canvas.width), _n(canvas.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(canvas.title)}</title>',
            f'<desc id="desc">{escape(canvas.description)}</desc>',
            f"<style>\n{_css(canvas)}\n</style>",
            '<rect class="page" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        ]
    )


def _css(canvas: Canvas) -> str:
    has_loads = any(stroke.share is not None for stroke in canvas.strokes)
    paint = PAINT + LOAD_PAINT if has_loads else PAINT
    light = "\n".join(f"{selector} {{ {name}: {value} }}" for selector, name, value, _ in paint)
    dark = "\n".join(f"{selector} {{ {name}: {value} }}" for selector, name, _, value in paint)
    sizes = "\n".join(f".{style} {{ font-size: {_n(size)}px }}" for style, size in SIZES.items())
    shape = f"{SHAPE}\n{OVERLOADED}" if has_loads else SHAPE
    return f"{shape}\n{sizes}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _n(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _rect(x: float, y: float, width: float, height: float, corner: float = CORNER) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(corner)}"/>'


def _frame(frame: Frame) -> str:
    kind = "host" if frame.label else "frame"
    y = frame.y + frame.height - 8 if frame.label_below else frame.y + 16
    label = _text(frame.x + 12, y, (Piece(text=frame.label, style=Style.TITLE),)) if frame.label else ""
    return f'<g class="{kind}">{_rect(frame.x, frame.y, frame.width, frame.height, 10)}{label}</g>'


def _stroke(stroke: Stroke) -> str:
    load = "" if stroke.share is None else f" {load_class(stroke.share).name}"
    kind = f"wire {stroke.kind}{load}{' faulty' if stroke.bad else ''}"
    note = f"<title>{escape(stroke.note)}</title>" if stroke.note else ""
    return f'<path class="{kind}" d="{_path(stroke.points)}" stroke-width="{_n(stroke.width)}">{note}</path>'


def _path(points: tuple[tuple[float, float], ...]) -> str:
    """Straight pieces with rounded corners."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        parts.append(f"L{_n(start[0])} {_n(start[1])}Q{_n(corner[0])} {_n(corner[1])} {_n(end[0])} {_n(end[1])}")
    parts.append(f"L{_n(points[-1][0])} {_n(points[-1][1])}")
    return "".join(parts)


def _distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])  # all pieces are level or upright


def _towards(a: tuple[float, float], b: tuple[float, float], by: float) -> tuple[float, float]:
    share = by / (_distance(a, b) or 1.0)
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def _box(box: Box) -> str:
    kind = f"box {box.kind}{' faulty' if box.bad else ''}"
    used = ROW * len(box.rows)
    first = box.y + ((box.height - used) if box.centred else PAD) / 2 + ROW * 0.74
    x = box.middle[0] if box.centred else box.x + PAD
    rows = "".join(_text(x, first + ROW * i, row, box.centred) for i, row in enumerate(box.rows))
    shape = _rect(box.x, box.y, box.width, box.height)
    return f"<g class={quoted(kind)} id={quoted(box.id)}><title>{escape(box.note)}</title>{shape}{rows}</g>"


def _text(x: float, y: float, row: Row, centred: bool = False) -> str:
    anchor = ' text-anchor="middle"' if centred else ""
    spans = [
        f'<tspan class="{piece.style}"{f" dx={quoted(_n(BETWEEN))}" if i else ""}>{escape(piece.text)}</tspan>'
        for i, piece in enumerate(row)
    ]
    return f'<text x="{_n(x)}" y="{_n(y)}"{anchor}>{"".join(spans)}</text>'


def _crossing_label(stroke: Stroke) -> str:
    x, y = stroke.label_at
    return f'<text class="small halo" x="{_n(x)}" y="{_n(y + 3.5)}" text-anchor="middle">{escape(stroke.label)}</text>'


def _label(label: Label) -> str:
    return _text(label.x, label.y, (label.piece,))
