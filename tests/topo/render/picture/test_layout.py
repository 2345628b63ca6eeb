# SPDX-License-Identifier: Apache-2.0
"""Layout: every part has one box, boxes are apart and inside, texts and wires inside too, on any machine."""

from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from tests.topo.render.picture.random_pictures import drawn, topologies
from tests.topo.small_machines import C2C, SWITCHED, gpu, nic, nvlink, switch, topology

from railgauge.topo.nccl.graph.model import LinkKind, NodeKind
from railgauge.topo.render.picture import svg
from railgauge.topo.render.picture.canvas import PAD, ROW, Box, Point, row_width
from railgauge.topo.render.picture.layout import lay_out


@settings(deadline=None, max_examples=20)
@given(topologies())
def test_any_machine_is_laid_out_cleanly(described):
    picture = drawn(described)
    canvas = lay_out(picture)
    assert sorted(box.id for box in canvas.boxes) == sorted(part.id for part in picture.parts())
    for a, b in combinations(canvas.boxes, 2):
        assert apart(a, b), (a.id, b.id)
    for box in canvas.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= canvas.width
        assert box.bottom <= canvas.height
        assert all(row_width(row) + 2 * PAD <= box.width + 1 for row in box.rows), box.id
        assert len(box.rows) * ROW <= box.height
    for stroke in canvas.strokes:
        assert all(0 <= x <= canvas.width and 0 <= y <= canvas.height for x, y in stroke.points)
    assert all(label.x + label.piece.width <= canvas.width + 1 for label in canvas.labels[1:])


@settings(deadline=None, max_examples=20)
@given(topologies())
def test_no_pci_wire_runs_through_a_device(described):
    canvas = lay_out(drawn(described))
    devices = [box for box in canvas.boxes if box.kind in (NodeKind.GPU, NodeKind.NIC)]
    for stroke in (stroke for stroke in canvas.strokes if stroke.kind is LinkKind.PCI):
        middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(stroke.points)]
        assert not any(inside(box, point) for box in devices for point in middles)


@settings(deadline=None, max_examples=20)
@given(topologies())
def test_the_same_machine_gives_the_same_bytes(described):
    assert svg.dumps(lay_out(drawn(described))) == svg.dumps(lay_out(drawn(described)))


def inside(box: Box, point: Point) -> bool:
    return box.x < point[0] < box.x + box.width and box.y < point[1] < box.bottom


def apart(a: Box, b: Box) -> bool:
    return a.x + a.width <= b.x or b.x + b.width <= a.x or a.bottom <= b.y or b.bottom <= a.y


def sockets(gpus: int, nics: int, inside: str = SWITCHED) -> tuple[str, str]:
    """Two sockets with a switch for each GPU and its NICs."""
    texts = ["", ""]
    for i in range(gpus):
        ports = "".join(nic(f"0000:{i:02x}:{2 + n:02x}.0", i * nics + n) for n in range(nics))
        texts[2 * i // gpus] += switch(f"0000:{i:02x}:00.0", gpu(f"0000:{i:02x}:01.0", i, inside, sm=90), ports)
    return texts[0], texts[1]


def boxes(canvas) -> dict[str, Box]:
    return {box.id: box for box in canvas.boxes}


def test_a_wide_machine_has_its_sockets_face_each_other():
    canvas = lay_out(drawn(topology(*sockets(8, 1))))
    placed = boxes(canvas)
    bar, cpus = placed["NVS/0-0"], [box for box in canvas.boxes if box.kind is NodeKind.CPU]
    gpus = [box for box in canvas.boxes if box.kind is NodeKind.GPU]
    assert [box.y < bar.y for box in cpus] == [True, False]
    assert [box.bottom <= bar.y for box in gpus] == [True] * 4 + [False] * 4
    assert canvas.width < 1500


def test_a_small_machine_has_its_sockets_side_by_side():
    placed = boxes(lay_out(drawn(topology(*sockets(2, 1)))))
    assert placed["CPU/0-0"].y == placed["CPU/0-1"].y


def test_many_nics_stand_on_each_other():
    few, many = (lay_out(drawn(topology(*sockets(8, nics)))) for nics in (2, 4))
    assert sum(box.kind is NodeKind.NIC for box in many.boxes) == 32
    assert many.width < few.width * 1.2


def test_the_largest_machines_stack_even_two_nics():
    canvas = lay_out(drawn(topology(*sockets(16, 2))))
    first, second = (boxes(canvas)[f"NIC/0-{number}"] for number in ("20", "30"))
    assert (first.x, first.bottom < second.y) == (second.x, True)
    assert canvas.width < 3000


def test_short_nvlinks_lie_nearer_than_long_ones():
    buses = [f"0000:{i:02x}:00.0" for i in range(4)]
    links = ["".join(nvlink(bus) for bus in buses if bus != own) for own in buses]
    canvas = lay_out(drawn(topology("".join(gpu(bus, i, links[i]) for i, bus in enumerate(buses)))))
    heights = {round(abs(s.points[0][0] - s.points[-1][0])): s.label_at[1] for s in canvas.strokes if s.label}
    assert len([s for s in canvas.strokes if s.label == "NV1"]) == 6
    assert [height for _, height in sorted(heights.items())] == sorted(heights.values())


def test_chip_to_chip_has_a_lane_of_its_own():
    canvas = lay_out(drawn(topology(gpu("0000:01:00.0", 0, C2C, sm=90), vendor="arm64")))
    box = boxes(canvas)["DEV/0-1000"]
    lane = next(stroke for stroke in canvas.strokes if stroke.kind == "C2C")
    assert lane.points[0][0] < box.x
    assert lane.points[-1] == (box.x, box.middle[1])


def test_wires_are_as_wide_as_they_carry():
    canvas = lay_out(drawn(topology(*sockets(8, 1))))
    widths = {stroke.kind: stroke.width for stroke in canvas.strokes if stroke.note}
    assert widths["NVL"] > widths["PCI"] > 1


@pytest.mark.parametrize(("nics", "high"), [(2, 1), (3, 2), (8, 2), (9, 4), (16, 4)])
def test_stacks_grow_with_the_number_of_nics(nics, high):
    ports = (nic(f"0000:01:{2 + n:02x}.0", n) for n in range(nics))
    canvas = lay_out(drawn(topology(switch("0000:01:00.0", gpu("0000:01:01.0", 0), *ports))))
    stacks = Counter(box.x for box in canvas.boxes if box.kind is NodeKind.NIC)
    assert (max(stacks.values()), stacks.total()) == (high, nics)
