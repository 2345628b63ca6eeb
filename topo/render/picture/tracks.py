# SPDX-License-Identifier: Apache-2.0
"""NVLinks from GPU to GPU as a wiring channel: down from a pin of each GPU, and across on a track of their own.

Wires of two GPUs above take the upper tracks, of two below the lower ones, and those from above to below the middle.
Short wires lie nearest to their GPUs, so that long ones go around them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from railgauge.topo.render.picture.canvas import Box, Point, Stroke, Style, TextRun, stroke_width
from railgauge.topo.render.picture.parts import PictureWire

TRACK = 18.0
MARGIN = 16.0
CLEAR = 10.0  # between two wires on one track
JOG = 18.0  # a wire that would step aside by less goes straight
SPOTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # where on its track a label may stand


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingChannel:
    """The wires between two shelves of GPUs; `lower` holds the ids of the GPUs below. Heights are in pixels."""

    wires: tuple[tuple[PictureWire, float, float], ...]  # with the x of both pins
    tracks: dict[str, list[int]]
    counts: dict[str, int]
    sides: tuple[str, ...]

    @property
    def height(self) -> float:
        """What all tracks need."""
        return TRACK * (sum(self.counts.values()) + 1) if self.wires else 0.0


def plan(wires: Sequence[PictureWire], boxes: dict[str, Box], lower: frozenset[str]) -> RoutingChannel:
    """Pins and tracks for wires between boxes, of which only x matters yet."""
    pins = _pins(wires, boxes, lower)
    placed = [(wire, *_straightened(pins[wire.ends[0], i], pins[wire.ends[1], i])) for i, wire in enumerate(wires)]
    sides = tuple(_side(wire, lower) for wire in wires)
    tracks: dict[str, list[int]] = {}
    counts = {}
    for side in ("upper", "across", "lower"):
        chosen = [i for i, own in enumerate(sides) if own == side]
        found = _assign([(placed[i][0].label, placed[i][1], placed[i][2]) for i in chosen])
        tracks[side] = [found[chosen.index(i)] if i in chosen else -1 for i in range(len(wires))]
        counts[side] = max(found, default=-1) + 1
    return RoutingChannel(wires=tuple(placed), tracks=tracks, counts=counts, sides=sides)


def _side(wire: PictureWire, lower: frozenset[str]) -> str:
    below = sum(end in lower for end in wire.ends)
    return ("upper", "across", "lower")[below]


def _pins(wires: Sequence[PictureWire], boxes: dict[str, Box], lower: frozenset[str]) -> dict[tuple[str, int], float]:
    """The x of each wire at each of its ends: nearest neighbours outermost, so that wires of one GPU do not cross."""
    at: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for i, wire in enumerate(wires):
        for end, other in (wire.ends, wire.ends[::-1]):
            at[end].append((boxes[other].middle[0] - boxes[end].middle[0], i))
    pins = {}
    for end, ways in at.items():
        box = boxes[end]
        left = sorted((way for way in ways if way[0] < 0), key=lambda way: (-way[0], way[1]))
        right = sorted((way for way in ways if way[0] >= 0), key=lambda way: (-way[0], way[1]))
        pitch = (box.width - 2 * MARGIN) / len(ways)
        shift = 0.25 if end in lower else 0.75  # so that no pin below stands right under one above
        for place, (_, i) in enumerate((*left, *right)):
            pins[end, i] = round(box.x + MARGIN + pitch * (place + shift), 1)
    return pins


def _straightened(a: float, b: float) -> tuple[float, float]:
    """Pins that nearly face each other do: a tiny jog is only noise."""
    return ((a + b) / 2, (a + b) / 2) if abs(a - b) < JOG else (a, b)


def _assign(spans: list[tuple[str, float, float]]) -> list[int]:
    """A track for each (label, x, x): the shortest first, each on the first track where it is clear of others."""
    tracks: list[list[tuple[float, float]]] = []
    found = [0] * len(spans)
    for i in sorted(range(len(spans)), key=lambda i: (abs(spans[i][1] - spans[i][2]), i)):
        label, a, b = spans[i]
        half = max(abs(a - b), TextRun(text=label, style=Style.SMALL).width + CLEAR) / 2 + CLEAR / 2
        low, high = (a + b) / 2 - half, (a + b) / 2 + half
        free = (n for n, taken in enumerate(tracks) if all(high <= x or low >= y for x, y in taken))
        found[i] = next(free, len(tracks))
        if found[i] == len(tracks):
            tracks.append([])
        tracks[found[i]].append((low, high))
    return found


def strokes(channel: RoutingChannel, boxes: dict[str, Box], top: float, bottom: float) -> list[Stroke]:
    """The wires with their points, in a channel from y `top` to `bottom` (upper GPUs' lower edge, and so on)."""
    ways = [_way(channel, boxes, i, _track_y(channel, i, top, bottom)) for i in range(len(channel.wires))]
    return [
        Stroke(
            points=points,
            kind=wire.kind,
            width=stroke_width(wire.gb_per_s),
            note=wire.note,
            bad=wire.problem is not None,
            share=wire.share,
            channels=wire.channels,
            label=wire.label,
            label_at=_clear_spot(wire.label, (a, b), y, [other for other, _ in ways if other is not points]),
        )
        for (points, y), (wire, a, b) in zip(ways, channel.wires, strict=True)
    ]


def _way(channel: RoutingChannel, boxes: dict[str, Box], i: int, y: float) -> tuple[tuple[Point, ...], float]:
    """The points of one wire, and the y of its track."""
    wire, a, b = channel.wires[i]
    start, end = (_edge(boxes[end], y) for end in wire.ends)
    if a == b and channel.sides[i] == "across":
        return ((a, start), (b, end)), y
    return ((a, start), (a, y), (b, y), (b, end)), y


def _clear_spot(label: str, pins: tuple[float, float], y: float, others: list[tuple[Point, ...]]) -> Point:
    """The middle of the track, or near it where no other wire comes down through the label."""
    half = TextRun(text=label, style=Style.SMALL).width / 2 + 4
    uprights = [
        a[0] for way in others for a, b in pairwise(way) if a[0] == b[0] and min(a[1], b[1]) <= y <= max(a[1], b[1])
    ]
    spots = [pins[0] + (pins[1] - pins[0]) * share for share in SPOTS]
    return next((x for x in spots if all(abs(x - upright) > half for upright in uprights)), spots[0]), y


def _track_y(channel: RoutingChannel, i: int, top: float, bottom: float) -> float:
    side = channel.sides[i]
    track = channel.tracks[side][i]
    if side == "lower":
        return bottom - TRACK * (track + 1)
    first = channel.counts["upper"] if side == "across" else 0
    return top + TRACK * (first + track + 1)


def _edge(box: Box, y: float) -> float:
    return box.bottom if box.bottom < y else box.y
