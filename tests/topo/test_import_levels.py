# SPDX-License-Identifier: Apache-2.0
"""The levels of topo: a room imports from the levels below it or from itself, never upward or in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tests.sources import nodes

TOPO = Path(__file__).parents[2] / "topo"
LEVELS = (
    ("errors",),
    ("values", "files"),
    ("facts", "xml", "link_state"),
    ("nccl", "expect"),
    ("machine", "channels"),
    ("predict", "compare", "fabric"),
    ("findings",),
    ("jobs", "vm"),
    ("render",),
)
"""The rooms of topo, lowest first: modules at its root and folders. Rooms of one level do not import each other."""


def rooms(path):
    """The rooms of topo that a module imports, also inside functions."""
    for node in nodes(ast.parse(path.read_text(), path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[:2] == ["railgauge", "topo"] and len(parts) > 2:
                yield parts[2]


def arrows(topo):
    """(room, room it imports, module) for every import from one room of topo to another."""
    for path in sorted(topo.rglob("*.py")):
        room = path.relative_to(topo).with_suffix("").parts[0]
        if room != "__init__":
            yield from ((room, other, str(path.relative_to(topo))) for other in rooms(path) if other != room)


def upward(topo, levels=LEVELS):
    """The imports that do not go down, as `module: room`; a room without a level counts as one."""
    level = {room: height for height, rooms in enumerate(levels) for room in rooms}
    return sorted(
        {
            f"{path}: {other}"
            for room, other, path in arrows(topo)
            if room not in level or other not in level or level[other] >= level[room]
        }
    )


def test_every_room_has_a_level():
    assert len(LEVELS) <= 9
    known = {room for level in LEVELS for room in level}
    there = {path.stem for path in TOPO.glob("*.py")} | {path.parent.name for path in TOPO.glob("*/__init__.py")}
    assert there - {"__init__"} == known


def test_no_room_imports_one_above_it():
    assert not upward(TOPO)


def test_there_is_no_circle_among_rooms():
    graph = {}
    for room, other, _ in arrows(TOPO):
        graph.setdefault(room, set()).add(other)
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("facts/sources/a.py", "from railgauge.topo.nccl.settings import hca\n"),
        ("xml/a.py", "def late():\n    from railgauge.topo.facts.reader import Reader\n"),
        ("errors.py", "import railgauge.topo.values.busid\n"),
        ("new_room.py", "from railgauge.topo.errors import UsageError\n"),
    ],
)
def test_an_upward_import_is_found(tmp_path, module, text):
    (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / module).write_text(text)
    assert [line.split(":")[0] for line in upward(tmp_path)] == [module]
