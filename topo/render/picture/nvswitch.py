# SPDX-License-Identifier: Apache-2.0
"""The NVSwitch as a bar between, or below, the GPUs that it joins."""

from railgauge.topo.render.picture.canvas import Box, Stroke, rows_height, stroke_width
from railgauge.topo.render.picture.parts import Picture, PictureWire
from railgauge.topo.render.picture.rows import bar_rows

THICKER = 6.0  # than a bar of the PCI tree


def _switched(picture: Picture) -> list[tuple[PictureWire, str]]:
    """(wire, card) of the wires to the NVSwitch."""
    key = picture.switch.id if picture.switch else ""
    return [(wire, next(end for end in wire.ends if end != key)) for wire in picture.wires if key in wire.ends]


def switch_bar(picture: Picture, boxes: dict[str, Box], y: float) -> Box | None:
    """The bar at y, from the first to the last of its GPUs; None without an NVSwitch."""
    if picture.switch is None:
        return None
    part = picture.switch
    ends = [boxes[card] for _, card in _switched(picture)] or list(boxes.values())
    left, right = min(box.x for box in ends), max(box.x + box.width for box in ends)
    rows = tuple(bar_rows(part, right - left))
    height = rows_height(len(rows)) + THICKER
    return Box(
        id=part.id,
        kind=part.kind,
        x=left,
        y=y,
        width=right - left,
        height=height,
        rows=rows,
        note=part.note,
        centred=True,
    )


def wires_to_switch(picture: Picture, boxes: dict[str, Box], bar: Box) -> list[Stroke]:
    """An upright line from each GPU to the bar."""
    strokes = []
    for wire, card in _switched(picture):
        box = boxes[card]
        x, above = box.middle[0], box.y < bar.y
        points = ((x, box.bottom), (x, bar.y)) if above else ((x, box.y), (x, bar.bottom))
        width, bad = stroke_width(wire.gb_per_s), wire.problem is not None
        strokes.append(
            Stroke(
                points=points,
                kind=wire.kind,
                width=width,
                note=wire.note,
                bad=bad,
                share=wire.share,
                channels=wire.channels,
            )
        )
    return strokes
