# SPDX-License-Identifier: Apache-2.0
"""The wires between the CPUs of a host as one bus along the outer edge: each CPU reaches each other by it.

NCCL's model has a wire between any two CPUs, all equal. Where a host stands on two shelves, the bus goes
around the left.
"""

from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.render.names import short_speed
from railgauge.topo.render.picture.canvas import Box, Point, Stroke, stroke_width
from railgauge.topo.render.picture.parts import Picture, PictureWire
from railgauge.topo.render.picture.shelf import Shelf

DISTANCE = 14.0  # of the bus from the shelf


def cpu_buses(picture: Picture, shelves: tuple[Shelf, Shelf], room: float) -> list[Stroke]:
    """A bus for each host with several CPUs; `room` is what is free on the left of the shelves."""
    left = min(frame.x for shelf in shelves for frame in shelf.frames) - room / 2
    strokes = []
    for host in sorted({cpu.host for cpu in picture.cpus}):
        wires = [wire for wire in picture.between_cpus if _host(picture, wire) == host]
        seats = [[shelf.boxes[cpu.id] for cpu in shelf.cpus if cpu.host == host] for shelf in shelves]
        if wires:
            strokes += _bus(wires, seats, _heights(shelves), left)
    return strokes


def _host(picture: Picture, wire: PictureWire) -> int:
    return next(cpu.host for cpu in picture.cpus if cpu.id == wire.ends[0])


def _heights(shelves: tuple[Shelf, Shelf]) -> tuple[float, float]:
    return shelves[0].y - DISTANCE, shelves[1].bottom + DISTANCE


def _bus(wires: list[PictureWire], seats: list[list[Box]], heights: tuple[float, float], left: float) -> list[Stroke]:
    """The line itself from CPU to CPU, labelled, and a stub to each CPU between."""
    speeds = [wire.gb_per_s for wire in wires]
    width = stroke_width(max(speeds))
    share = max((wire.share for wire in wires if wire.share is not None), default=None)
    channels = tuple(sorted({channel for wire in wires for channel in wire.channels}))
    text = " to ".join(dict.fromkeys((short_speed(min(speeds)), short_speed(max(speeds)))))
    line = _line(seats, heights, left)
    stubs = [
        Stroke(
            points=((box.middle[0], y), (box.middle[0], _outer(box, y))),
            kind=LinkKind.SYS,
            width=width,
            share=share,
            channels=channels,
        )
        for boxes, y in zip(seats, heights, strict=True)
        for box in boxes
        if (box.middle[0], y) not in line
    ]
    note = f"between any two CPUs: {text}"
    xs = sorted({x for x, y in line if y == line[1][1]} | {box.middle[0] for box in seats[0] or seats[1]})
    at = ((xs[0] + xs[1]) / 2, line[1][1])
    bus = Stroke(
        points=line,
        kind=LinkKind.SYS,
        width=width,
        note=note,
        label=text,
        label_at=at,
        share=share,
        channels=channels,
    )
    return [*stubs, bus]


def _outer(box: Box, y: float) -> float:
    """The edge of a CPU that faces its bus."""
    return box.y if y < box.y else box.bottom


def _line(seats: list[list[Box]], heights: tuple[float, float], left: float) -> tuple[Point, ...]:
    """From CPU to CPU: the outermost of one shelf, or the rightmost of both and around the left."""
    rows = [(sorted(boxes, key=lambda box: box.x), y) for boxes, y in zip(seats, heights, strict=True) if boxes]
    (first, y), (second, z) = rows[0], rows[-1]
    start = first[-1] if len(rows) == 2 else first[0]
    a, b = start.middle[0], second[-1].middle[0]
    around = ((left, y), (left, z)) if len(rows) == 2 else ()
    return ((a, _outer(start, y)), (a, y), *around, (b, z), (b, _outer(second[-1], z)))
