# SPDX-License-Identifier: Apache-2.0
"""A row of NUMA nodes side by side: CPUs at the outer edge, PCI switches by level, GPUs and NICs at the inner edge.

    [ NUMA 0                      ]  [ NUMA 1 ...      outer edge
    [ switch       ] [ switch     ]
    [GPU0] [NIC0]     [GPU1] [NIC1]                    inner edge: NVLinks go on from here

The lower of two shelves is turned upside down, so that both have their GPUs at the fabric between them.
"""

from dataclasses import dataclass, field, replace

from railgauge.topo.nccl.graph.model import LinkKind, NodeKind
from railgauge.topo.render.picture.canvas import Box, Frame, Row, Stroke, rows_height, stroke_width
from railgauge.topo.render.picture.columns import DEVICES, GAP, LANE, RAIL, PartWidths, wires_to_cpus
from railgauge.topo.render.picture.parts import Picture, PicturePart, PictureWire
from railgauge.topo.render.picture.rows import bar_rows, card_rows

LEVEL_GAP, STACK_GAP = 30.0, 8.0
FRAME_PAD, SOCKET_GAP, HOST_GAP = 12.0, 40.0, 24.0


@dataclass(slots=True, kw_only=True)
class _Slot:
    """A part on its way to a box: all but its y is known. `level` is None for devices, `rail` the x of its wire up."""

    part: PicturePart
    x: float
    width: float
    level: int | None
    rows: tuple[Row, ...]
    parent: str | None
    place: int = 0
    rail: float | None = None


@dataclass(slots=True, kw_only=True)
class Shelf:
    """The laid-out row from y on: boxes and frames (one a CPU) with their wires."""

    cpus: tuple[PicturePart, ...] = ()
    boxes: dict[str, Box] = field(default_factory=dict)
    strokes: list[Stroke] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    def moved(self, dx: float, dy: float) -> "Shelf":
        """The same elsewhere."""
        return Shelf(
            cpus=self.cpus,
            boxes={key: replace(box, x=box.x + dx, y=box.y + dy) for key, box in self.boxes.items()},
            strokes=[replace(s, points=tuple((x + dx, y + dy) for x, y in s.points)) for s in self.strokes],
            frames=[replace(frame, x=frame.x + dx, y=frame.y + dy) for frame in self.frames],
            y=self.y + dy,
            width=self.width,
            height=self.height,
        )


def lay_shelf(picture: Picture, cpus: tuple[PicturePart, ...], sizes: PartWidths, *, flipped: bool) -> Shelf:
    """The shelf of some CPUs, its upper left corner at (0, 0); empty without any."""
    if not cpus:
        return Shelf()
    slots: list[_Slot] = []
    x, before = FRAME_PAD, cpus[0]
    for cpu in cpus:
        x += HOST_GAP if cpu.host != before.host else 0.0
        _place(sizes, slots, cpu, x, sizes.width(cpu), 0, None)
        x, before = x + sizes.width(cpu) + SOCKET_GAP, cpu
    shelf = Shelf(cpus=cpus, width=x - SOCKET_GAP + FRAME_PAD)
    _stack_levels(shelf, slots)
    if flipped:
        shelf.boxes = {key: replace(box, y=shelf.height - box.bottom) for key, box in shelf.boxes.items()}
    shelf.strokes = sorted((_up(shelf, slot) for slot in slots if slot.parent), key=lambda stroke: not stroke.bad)
    shelf.strokes += [_lane(shelf, *ends) for ends in wires_to_cpus(picture) if ends[1] in shelf.boxes]
    shelf.frames = [_frame(shelf, cpu) for cpu in cpus]
    return shelf


def _place(
    sizes: PartWidths, slots: list[_Slot], part: PicturePart, x: float, width: float, level: int, parent: str | None
) -> None:
    """Give a part and all below it their x; children stand centred below what is wider than they are."""
    if part.kind in DEVICES:
        lane = sizes.lane(part)
        rows = tuple(card_rows(part))
        slots.append(_Slot(part=part, x=x + lane, width=width - lane, level=None, rows=rows, parent=parent))
        return
    inset = sizes.inset(part)
    rows = tuple(bar_rows(part, width - inset))
    slots.append(_Slot(part=part, x=x + inset, width=width - inset, level=level, rows=rows, parent=parent))
    x += 0.0 if inset else (width - sizes.below(part)) / 2
    for column in sizes.columns(part):
        if len(column) == 1:
            _place(sizes, slots, column[0], x, sizes.width(column[0]), level + 1, part.id)
        else:
            slots += _stack(column, x, sizes, part.id)
        x += sizes.column(column) + GAP


def _stack(column: tuple[PicturePart, ...], x: float, sizes: PartWidths, parent: str) -> list[_Slot]:
    return [
        _Slot(
            part=part,
            x=x + RAIL,
            width=sizes.width(part),
            level=None,
            rows=tuple(card_rows(part)),
            parent=parent,
            place=place,
            rail=x + 2,
        )
        for place, part in enumerate(column)
    ]


def _stack_levels(shelf: Shelf, slots: list[_Slot]) -> None:
    """Give each slot its y: switches by level, GPUs on the inner edge, NICs right below the last level."""
    bars, first = _levels([slot for slot in slots if slot.level is not None])
    devices = [slot for slot in slots if slot.level is None]
    heights = {kind: max(_heights(devices, kind), default=0.0) for kind in DEVICES}
    ends = ((slot.place + 1) * (heights[slot.part.kind] + STACK_GAP) - STACK_GAP for slot in devices)
    high = max(ends, default=-LEVEL_GAP)
    for slot in slots:
        if slot.level is not None:
            top, height = bars[slot.level]
        else:
            height = heights[slot.part.kind]
            top = first + (high - height if slot.part.kind is NodeKind.GPU else slot.place * (height + STACK_GAP))
        shelf.boxes[slot.part.id] = _box(slot, top, height)
    shelf.height = first + high + FRAME_PAD


def _levels(bars: list[_Slot]) -> tuple[dict[int, tuple[float, float]], float]:
    """(y, height) of each level, as high as its highest bar, and the y below the last gap."""
    tops, y = {}, FRAME_PAD
    for level in sorted({slot.level for slot in bars if slot.level is not None}):
        height = max(rows_height(len(slot.rows)) for slot in bars if slot.level == level)
        tops[level], y = (y, height), y + height + LEVEL_GAP
    return tops, y


def _heights(devices: list[_Slot], kind: NodeKind) -> list[float]:
    return [rows_height(len(slot.rows)) for slot in devices if slot.part.kind is kind]


def _box(slot: _Slot, y: float, height: float) -> Box:
    return Box(
        id=slot.part.id,
        kind=slot.part.kind,
        x=slot.x,
        y=y,
        width=slot.width,
        height=height,
        rows=slot.rows,
        note=slot.part.note,
        centred=slot.level is not None,
        bad=bool(slot.part.faults),
    )


def _up(shelf: Shelf, slot: _Slot) -> Stroke:
    """The wire from a part to its parent: straight, or along the rail of its stack."""
    box, parent, wire = shelf.boxes[slot.part.id], shelf.boxes[slot.parent or ""], slot.part.up
    down = box.y > parent.y
    start = parent.bottom if down else parent.y
    x, middle = box.middle
    end = box.y if down else box.bottom
    straight = ((x, start), (x, end))
    points = straight if slot.rail is None else ((slot.rail, start), (slot.rail, middle), (box.x, middle))
    return Stroke(
        points=points,
        kind=wire.kind if wire else LinkKind.PCI,
        width=stroke_width(wire.gb_per_s) if wire else 1.0,
        note=wire.note if wire else "",
        bad=bool(wire and wire.problem),
        share=wire.share if wire else None,
        channels=wire.channels if wire else (),
    )


def _lane(shelf: Shelf, wire: PictureWire, card: str, cpu: str) -> Stroke:
    """From the CPU along the GPU's lane, and into its side."""
    box, top = shelf.boxes[card], shelf.boxes[cpu]
    x, y = box.x - LANE / 2 - 2, box.middle[1]
    start = top.bottom if box.y > top.y else top.y
    points = ((x, start), (x, y), (box.x, y))
    return Stroke(
        points=points,
        kind=wire.kind,
        width=stroke_width(wire.gb_per_s),
        note=wire.note,
        share=wire.share,
        channels=wire.channels,
    )


def _frame(shelf: Shelf, cpu: PicturePart) -> Frame:
    boxes = [shelf.boxes[part.id] for part in cpu.walk()]
    left, right = min(box.x for box in boxes), max(box.x + box.width for box in boxes)
    return Frame(x=left - FRAME_PAD, y=0.0, width=right - left + 2 * FRAME_PAD, height=shelf.height)
