# SPDX-License-Identifier: Apache-2.0
"""A canvas as SVG 1.1: text as text in the reader's fonts, light and dark by CSS, nothing loaded from anywhere.

The same canvas gives the same bytes.
"""

from railgauge.topo.nccl.graph.model import LinkKind, NodeKind
from railgauge.topo.render import palette
from railgauge.topo.render.markup import MONO, SANS, Paint, escape, picture, px, quoted, themed
from railgauge.topo.render.picture.canvas import (
    BETWEEN,
    PAD,
    ROW,
    SIZES,
    Box,
    Canvas,
    Frame,
    Label,
    Row,
    Stroke,
    Style,
    TextRun,
)
from railgauge.topo.render.picture.load_scale import SCALE, load_class

CORNER = 6.0
CASING = 3.0  # how much wider than its channels a wire is, whose colour is its load
DASH, SHORTEST_DASH = 8.0, 1.5  # pixels of a channel along a wire

BOXES = (
    (".box.CPU rect, .box.MEM rect", NodeKind.CPU),
    (".box.PCI rect", NodeKind.PCI),
    (".box.GPU rect, .box.HOST rect", NodeKind.GPU),
    (".box.NIC rect", NodeKind.NIC),
    (".box.NVS rect", NodeKind.NVS),
)
PAINT: tuple[Paint, ...] = (
    (".page", "fill", palette.PAGE),
    (".text, .title, .head, .code", "fill", palette.TEXT),
    (".small, .quiet", "fill", palette.QUIET),
    (".bad", "fill", palette.WRONG),
    (".frame rect", "fill", palette.FRAME),
    (".host rect", "stroke", palette.EDGE),
    (".halo", "stroke", palette.PAGE),
    *((box, "fill", palette.FILLS[kind]) for box, kind in BOXES),
    (".frame rect", "stroke", palette.RULE),
    *((box, "stroke", palette.EDGES[kind]) for box, kind in BOXES),
    (".wire.PCI, .wire.MEM", "stroke", palette.WIRES[LinkKind.PCI]),
    (".wire.NVL", "stroke", palette.WIRES[LinkKind.NVL]),
    (".wire.C2C", "stroke", palette.WIRES[LinkKind.C2C]),
    (".wire.SYS", "stroke", palette.WIRES[LinkKind.SYS]),
    (".wire.faulty, .box.faulty rect", "stroke", palette.FAULTY),
)
LOAD_PAINT: tuple[Paint, ...] = tuple((f".wire.{one.name}", "stroke", one.colour) for one in SCALE)
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
CHANNEL = ".channel { fill: none; stroke-linejoin: round }"


def dumps(canvas: Canvas) -> str:
    """The SVG document."""
    body = [
        *map(_frame, canvas.frames),
        *map(_stroke, canvas.strokes),
        *map(_box, canvas.boxes),
        *map(_crossing_label, (stroke for stroke in canvas.strokes if stroke.label)),
        *map(_label, canvas.labels),
    ]
    return picture((canvas.width, canvas.height), canvas.title, canvas.description, _css(canvas), body)


def _css(canvas: Canvas) -> str:
    has_loads = any(stroke.share is not None for stroke in canvas.strokes)
    paint = PAINT + LOAD_PAINT if has_loads else PAINT
    numbers = sorted({number for stroke in canvas.strokes for number in stroke.channels})
    paint += tuple((f".channel.c{number}", "stroke", palette.channel_colour(number)) for number in numbers)
    sizes = "\n".join(f".{style} {{ font-size: {px(size)}px }}" for style, size in SIZES.items())
    shape = f"{SHAPE}\n{OVERLOADED}\n{CHANNEL}" if has_loads else SHAPE
    return f"{shape}\n{sizes}\n{themed(paint)}"


def _rect(x: float, y: float, width: float, height: float, corner: float = CORNER) -> str:
    return f'<rect x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height)}" rx="{px(corner)}"/>'


def _frame(frame: Frame) -> str:
    kind = "host" if frame.label else "frame"
    y = frame.y + frame.height - 8 if frame.label_below else frame.y + 16
    label = _text(frame.x + 12, y, (TextRun(text=frame.label, style=Style.TITLE),)) if frame.label else ""
    return f'<g class="{kind}">{_rect(frame.x, frame.y, frame.width, frame.height, 10)}{label}</g>'


def _stroke(stroke: Stroke) -> str:
    load = "" if stroke.share is None else f" {load_class(stroke.share).name}"
    kind = f"wire {stroke.kind}{load}{' faulty' if stroke.bad else ''}"
    note = f"<title>{escape(stroke.note)}</title>" if stroke.note else ""
    width = stroke.width + (CASING if stroke.channels else 0.0)
    wire = f'<path class="{kind}" d="{_path(stroke.points)}" stroke-width="{px(width)}">{note}</path>'
    return wire + "".join(_channel(stroke, place) for place in range(len(stroke.channels)))


def _channel(stroke: Stroke, place: int) -> str:
    """A channel's dashes along its wire, between those of the other channels there; alone it is a whole line."""
    count = len(stroke.channels)
    dash = max(min(DASH, stroke.length / count), SHORTEST_DASH)
    dashes = f' stroke-dasharray="{px(dash)} {px(dash * (count - 1))}" stroke-dashoffset="{px(-dash * place)}"'
    kind = f"channel c{stroke.channels[place]}"
    return (
        f'<path class="{kind}" d="{_path(stroke.points)}" stroke-width="{px(stroke.width)}"'
        f"{dashes if count > 1 else ''}/>"
    )


def _path(points: tuple[tuple[float, float], ...]) -> str:
    """Straight pieces with rounded corners."""
    parts = [f"M{px(points[0][0])} {px(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        parts.append(f"L{px(start[0])} {px(start[1])}Q{px(corner[0])} {px(corner[1])} {px(end[0])} {px(end[1])}")
    parts.append(f"L{px(points[-1][0])} {px(points[-1][1])}")
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
        f'<tspan class="{piece.style}"{f" dx={quoted(px(BETWEEN))}" if i else ""}>{escape(piece.text)}</tspan>'
        for i, piece in enumerate(row)
    ]
    return f'<text x="{px(x)}" y="{px(y)}"{anchor}>{"".join(spans)}</text>'


def _crossing_label(stroke: Stroke) -> str:
    x, y = stroke.label_at
    return f'<text class="small halo" x="{px(x)}" y="{px(y + 3.5)}" text-anchor="middle">{escape(stroke.label)}</text>'


def _label(label: Label) -> str:
    return _text(label.x, label.y, (label.piece,))
