# SPDX-License-Identifier: Apache-2.0
"""Which parts stand side by side below one, which are stacked, and how wide all that is."""

from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.render.picture.parts import Picture, PicturePart, PictureWire
from railgauge.topo.render.picture.rows import card_rows, pieces, rows_width

DEVICES = (NodeKind.GPU, NodeKind.NIC, NodeKind.HOST)
STACKED = (NodeKind.NIC, NodeKind.HOST)
GAP = 12.0
RAIL, LANE = 14.0, 16.0  # beside a stack, its wires; beside a GPU, its wire to the CPU
ALONE = 2


class PartWidths:
    """How wide parts are: devices of one kind have one width, the rest as wide as what is below or what it says.

    Up to `alone` NICs or host ranks of one parent stand side by side; more stand on each other.
    """

    def __init__(self, picture: Picture, alone: int = ALONE) -> None:
        self.alone = alone
        self.lanes = {card for _, card, _ in wires_to_cpus(picture)}
        self.device = {
            kind: max((rows_width(card_rows(part)) for part in picture.parts() if part.kind is kind), default=0.0)
            for kind in DEVICES
        }
        self.known: dict[str, float] = {}

    def columns(self, part: PicturePart) -> tuple[tuple[PicturePart, ...], ...]:
        """What is below a part from left to right: one part, or a stack from the top."""
        stacked = [below for below in part.below if below.kind in STACKED]
        if len(stacked) <= self.alone:
            return tuple((below,) for below in part.below)
        high = 2 if len(stacked) <= 8 else 4
        stacks = [tuple(stacked[i : i + high]) for i in range(0, len(stacked), high)]
        return (*((below,) for below in part.below if below.kind not in STACKED), *stacks)

    def width(self, part: PicturePart) -> float:
        """Pixels of a part, its lane included."""
        if part.id not in self.known:
            self.known[part.id] = self._width(part)
        return self.known[part.id]

    def _width(self, part: PicturePart) -> float:
        if part.kind in DEVICES:
            return self.device[part.kind] + self.lane(part)
        return max(rows_width([(piece,) for piece in pieces(part)]) + self.inset(part), self.below(part))

    def below(self, part: PicturePart) -> float:
        """Pixels of all columns below a part."""
        columns = self.columns(part)
        return sum(self.column(column) for column in columns) + GAP * max(len(columns) - 1, 0)

    def column(self, column: tuple[PicturePart, ...]) -> float:
        """Pixels of one column, the rail of a stack included."""
        return self.width(column[0]) + (RAIL if len(column) > 1 else 0.0)

    def lane(self, part: PicturePart) -> float:
        """Room on the left of a GPU for its wire to the CPU."""
        return LANE if part.id in self.lanes else 0.0

    def inset(self, part: PicturePart) -> float:
        """How far a switch begins to the right, so that the lane of its first GPU passes it."""
        columns = self.columns(part)
        return self.inset(columns[0][0]) if columns and part.kind is not NodeKind.CPU else self.lane(part)


def wires_to_cpus(picture: Picture) -> list[tuple[PictureWire, str, str]]:
    """(wire, card, CPU) of chip-to-chip links and of NVLinks to POWER CPUs."""
    cpus = {cpu.id for cpu in picture.cpus}
    ends = [(wire, *wire.ends) for wire in picture.wires]
    return [(wire, *((b, a) if a in cpus else (a, b))) for wire, a, b in ends if (a in cpus) != (b in cpus)]
