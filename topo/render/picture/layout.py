# SPDX-License-Identifier: Apache-2.0
"""A picture laid out: one shelf of NUMA nodes, or two with the fabric between them.

A small machine is one shelf with its NVLinks below. A wide one, or several hosts, are two shelves facing each other.
"""

from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.render.picture import tracks
from railgauge.topo.render.picture.canvas import Box, Canvas, Label, Style, TextRun
from railgauge.topo.render.picture.columns import PartWidths
from railgauge.topo.render.picture.cpu_bus import cpu_buses
from railgauge.topo.render.picture.host_frames import LABEL, PAD, host_frames
from railgauge.topo.render.picture.legend import legend
from railgauge.topo.render.picture.nvswitch import switch_bar, wires_to_switch
from railgauge.topo.render.picture.parts import Picture, PicturePart, PictureWire
from railgauge.topo.render.picture.shelf import SOCKET_GAP, Shelf, lay_shelf

MARGIN, HEAD, OUTSIDE = 28.0, 74.0, 30.0  # around everything; the title; the wires between CPUs
FABRIC_GAP, REMARK = 34.0, 17.0
WIDE = 1300.0  # pixels from which two shelves are better than one
TOO_WIDE = 2400.0  # and from which NICs are stacked
LEAST_WIDTH = 620.0


def lay_out(picture: Picture) -> Canvas:
    """Give every part of a picture its place."""
    top, bottom = _laid(picture)
    outside = _outside(picture)
    left = MARGIN + outside
    heading = _heading(picture)
    least = max(LEAST_WIDTH, *(2 * MARGIN + label.piece.width for label in (*heading, *_remarks(picture, 0.0))))
    inner = max(top.width, bottom.width, least - left - MARGIN - outside)
    top = top.moved(left + (inner - top.width) / 2, HEAD + outside)
    bottom = bottom.moved(left + (inner - bottom.width) / 2, 0.0)
    channel = tracks.plan(_direct(picture), top.boxes | bottom.boxes, frozenset(bottom.boxes))
    fabric = top.bottom + channel.height
    bar = switch_bar(picture, top.boxes | bottom.boxes, fabric + FABRIC_GAP)
    if bottom.cpus:
        bottom = bottom.moved(0.0, _lower_top(bar, fabric, bool(channel.wires)))
    end = bottom.bottom + outside if bottom.cpus else bar.bottom if bar else fabric
    boxes = top.boxes | bottom.boxes | ({bar.id: bar} if bar else {})
    strokes = [*top.strokes, *bottom.strokes, *tracks.strokes(channel, boxes, top.bottom, fabric)]
    strokes += wires_to_switch(picture, boxes, bar) if bar else []
    strokes += cpu_buses(picture, (top, bottom), OUTSIDE)
    width = left + inner + MARGIN + outside
    keys, labels, height = legend(strokes, MARGIN, end + MARGIN, width - MARGIN)
    remarks = _remarks(picture, height)
    return Canvas(
        width=round(width),
        height=round(height + MARGIN + REMARK * (len(remarks) + bool(remarks) / 2)),
        title=picture.title,
        description=picture.subtitle,
        frames=(*host_frames((top, bottom), outside), *top.frames, *bottom.frames),
        strokes=(*strokes, *keys),
        boxes=tuple(boxes.values()),
        labels=(*heading, *labels, *remarks),
    )


def _laid(picture: Picture) -> tuple[Shelf, Shelf]:
    """Both shelves; where they come out too wide to read, any two NICs of one parent are stacked."""
    for sizes in (PartWidths(picture), PartWidths(picture, alone=1)):
        upper, lower = _shelves(picture.cpus, sizes)
        top = lay_shelf(picture, upper, sizes, flipped=False)
        bottom = lay_shelf(picture, lower, sizes, flipped=True)
        if max(top.width, bottom.width) < TOO_WIDE:
            break
    return top, bottom


def _shelves(
    cpus: tuple[PicturePart, ...], sizes: PartWidths
) -> tuple[tuple[PicturePart, ...], tuple[PicturePart, ...]]:
    """The CPUs of the upper and the lower one: whole hosts where there are several, else as equal as can be."""
    hosts = sorted({cpu.host for cpu in cpus})
    if len(hosts) > 1:
        upper = hosts[: (len(hosts) + 1) // 2]
        return tuple(cpu for cpu in cpus if cpu.host in upper), tuple(cpu for cpu in cpus if cpu.host not in upper)
    widths = [sizes.width(cpu) for cpu in cpus]
    if sum(widths) + SOCKET_GAP * (len(cpus) - 1) < WIDE or len(cpus) < 2:
        return cpus, ()
    cut = min(range(1, len(cpus)), key=lambda i: (max(sum(widths[:i]), sum(widths[i:])), -i))
    return cpus[:cut], cpus[cut:]


def _outside(picture: Picture) -> float:
    """Room around the shelves: for wires between CPUs, and the frames of several hosts."""
    several = len({cpu.host for cpu in picture.cpus}) > 1
    return (OUTSIDE if picture.between_cpus else 0.0) + (PAD + LABEL if several else 0.0)


def _lower_top(bar: Box | None, fabric: float, has_wires: bool) -> float:
    if bar:
        return bar.bottom + FABRIC_GAP
    return fabric if has_wires else fabric + FABRIC_GAP


def _direct(picture: Picture) -> list[PictureWire]:
    """The wires from GPU to GPU."""
    cards = {part.id for part in picture.parts() if part.kind is NodeKind.GPU}
    return [wire for wire in picture.wires if set(wire.ends) <= cards]


def _heading(picture: Picture) -> tuple[Label, Label]:
    title = Label(x=MARGIN, y=38.0, piece=TextRun(text=picture.title, style=Style.HEAD))
    return title, Label(x=MARGIN, y=58.0, piece=TextRun(text=picture.subtitle, style=Style.TEXT))


def _remarks(picture: Picture, y: float) -> list[Label]:
    """The lines below the legend, which ends at y."""
    pieces = (TextRun(text=text, style=Style.CODE) for text in picture.remarks)
    return [Label(x=MARGIN, y=y + REMARK * (place + 1.5), piece=piece) for place, piece in enumerate(pieces)]
