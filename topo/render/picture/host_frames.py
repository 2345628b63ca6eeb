# SPDX-License-Identifier: Apache-2.0
"""A frame around each host where a picture shows several, its name at the outer edge."""

from railgauge.topo.render.picture.canvas import Frame
from railgauge.topo.render.picture.shelf import Shelf

PAD, LABEL = 10.0, 20.0


def host_frames(shelves: tuple[Shelf, Shelf], outside: float) -> list[Frame]:
    """The frames; `outside` is the room beyond the shelves, for wires between CPUs and the names. None for one host."""
    hosts = sorted({cpu.host for shelf in shelves for cpu in shelf.cpus})
    frames = []
    for host in hosts if len(hosts) > 1 else ():
        for shelf in shelves:
            inner = [f for f, cpu in zip(shelf.frames, shelf.cpus, strict=True) if cpu.host == host]
            if inner:
                frames.append(_around(inner, f"host {host}", outside, below=shelf is shelves[1]))
    return frames


def _around(inner: list[Frame], label: str, outside: float, *, below: bool) -> Frame:
    left, right = inner[0].x - PAD, inner[-1].x + inner[-1].width + PAD
    y = inner[0].y - (PAD if below else outside - 4)
    height = inner[0].height + PAD + outside - 4
    return Frame(x=left, y=y, width=right - left, height=height, label=label, label_below=below)
