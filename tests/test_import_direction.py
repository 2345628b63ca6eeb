# SPDX-License-Identifier: Apache-2.0
"""The import direction: cli -> collectives -> transports -> topo, never backwards; nothing uses fixtures.

Held over Python imports (also those named in a string, as lazy imports are), use of the submodules of
`railgauge._native`, and C++ includes. Fixtures may build on topo; that topo finds their data by path is no import.
"""

import ast
import os
import pathlib
import re

import pytest

from tests.sources import nodes

ROOT = pathlib.Path(__file__).parents[1]
LAYERS = ("topo", "transports", "collectives", "cli")  # each may use itself and those before it
FOLDERS = (*LAYERS, "fixtures")
MAY_USE = {layer: {*LAYERS[: place + 1]} for place, layer in enumerate(LAYERS)} | {"fixtures": {"fixtures", "topo"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def violations(root):
    """Every use of a folder by one that may not use it, as `file: what`."""
    found = []
    for folder in FOLDERS:
        for path in files(root / folder):
            uses = python_uses(path, root) if path.suffix in (".py", ".pyi") else include_uses(path, root)
            found += [f"{path.relative_to(root)}: {what}" for what, used in uses if used not in MAY_USE[folder]]
    for path in files(root):  # tests, benchmarks and scripts may use any folder, by its one name
        if path.suffix in (".py", ".pyi"):
            found += [f"{path.relative_to(root)}: second copy, {name}" for name in top_level_copies(path)]
    return sorted(found)


def files(root):
    for where, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "__pycache__"))]
        for name in names:
            path = pathlib.Path(where, name)
            if path.suffix in {".py", ".pyi", ".h", ".cc", ".cu", ".cuh"} and not path.is_symlink():
                yield path


def python_uses(path, root):
    """The folders that a module uses, each with the dotted name that says so."""
    inside = nodes(ast.parse(path.read_text(), path))
    package = ["railgauge", *path.relative_to(root).parent.parts]
    known = dict(imported(inside, package))
    names = {*known.values(), *attributes(inside, known), *strings(inside)}
    return sorted((name, used) for name in names if (used := folder_of(name)))


def imported(inside, package):
    """(local name, dotted name) of everything that is imported."""
    for node in inside:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name
                if not alias.asname:  # `import a.b` binds a
                    yield alias.name.split(".")[0], alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield alias.asname or alias.name, f"{module}.{alias.name}"


def attributes(inside, known):
    """The dotted names that attributes of imported names stand for."""
    for node in inside:
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in known:
            yield ".".join([known[node.id], *reversed(parts)])


def strings(inside):
    """Strings that name a module, as a lazy import does; data of fixtures may be named by anyone."""
    for node in inside:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if re.fullmatch(r"railgauge(\.\w+)+", name) and folder_of(name) != "fixtures":
                yield name


def folder_of(dotted):
    """The folder behind `railgauge.FOLDER...` or `railgauge._native.FOLDER...`."""
    parts = dotted.split(".")
    if parts[0] != "railgauge":
        return None
    place = 2 if parts[1:2] == ["_native"] else 1
    return parts[place] if len(parts) > place and parts[place] in FOLDERS else None


def top_level_copies(path):
    for node in nodes(ast.parse(path.read_text(), path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        yield from (name for name in names if name.split(".")[0] in FOLDERS)


def include_uses(path, root):
    """The folders whose headers a native source includes."""
    for name in INCLUDE.findall(path.read_text()):
        beside = pathlib.Path(os.path.normpath(path.parent / name))
        parts = beside.relative_to(root).parts if beside.is_relative_to(root) and beside.exists() else ()
        if not parts:
            parts = [part for part in pathlib.Path(name).parts if part not in ("..", "src", "railgauge")]
        if parts and parts[0] in FOLDERS:
            yield name, parts[0]


def test_no_folder_uses_one_above_it():
    assert violations(ROOT) == []


def importers_of(name, root):
    """The files of our folders that import a package."""
    return sorted(
        str(path.relative_to(root))
        for folder in FOLDERS
        for path in files(root / folder)
        if path.suffix == ".py"
        and name in (text := path.read_text())
        and any(one.split(".")[0] == name for _, one in imported(nodes(ast.parse(text)), ["railgauge"]))
    )


def test_one_folder_alone_imports_torch():
    """It is no dependency: those who have torch import railgauge.torch, which is made of that folder."""
    found = importers_of("torch", ROOT)
    assert found
    assert {str(pathlib.Path(one).parent) for one in found} == {"collectives/torch"}


BAD = {
    "an import of the layer above": ("topo/a.py", "import railgauge.transports.shm\n"),
    "a name from the layer above": ("transports/a.py", "from railgauge.collectives import plan\n"),
    "a folder taken from the package": ("topo/a.py", "from railgauge import cli\n"),
    "a relative import out of the folder": ("topo/sources/a.py", "from ...collectives import plan\n"),
    "an import inside a function": ("topo/a.py", "def f():\n    from railgauge.cli import main\n"),
    "an attribute of the package": ("topo/a.py", "import railgauge\nrailgauge.collectives.plan()\n"),
    "an attribute of a renamed package": ("topo/a.py", "import railgauge as r\nr.collectives.plan()\n"),
    "a module named in a string": ("transports/a.py", 'import_module("railgauge.cli.run.command")\n'),
    "a stub": ("topo/a.pyi", "from railgauge.transports import x\n"),
    "a native submodule above": ("topo/a.py", "from railgauge._native import collectives\n"),
    "a native submodule's name": ("transports/a.py", "from railgauge._native.collectives import ring\n"),
    "a native attribute": ("topo/a.py", "from railgauge import _native\n_native.transports.open()\n"),
    "fixtures in the program": ("cli/a.py", "from railgauge.fixtures import build\n"),
    "the program in fixtures": ("fixtures/a.py", "import railgauge.collectives\n"),
    "a second copy": ("cli/a.py", "import topo\n"),
    "a second copy in tests": ("tests/a.py", "from transports.shm import x\n"),
    "an include of the layer above": ("topo/native/a.cc", '#include "transports/native/transport.h"\n'),
    "an include by the package's name": ("transports/native/a.h", "#include <railgauge/collectives/native/ring.h>\n"),
    "an include by a relative path": ("transports/native/a.cc", '#  include "../../collectives/native/ring.h"\n'),
}

GOOD = {
    "cli/a.py": "import railgauge.topo.xml.topology_file\nfrom railgauge.collectives import plan\n",
    "collectives/a.py": "from railgauge import _native\n_native.transports.open()\n",
    "transports/a.py": '"""What railgauge.collectives uses."""\nfrom railgauge.topo import model\n',
    "topo/a.py": 'import os\nfrom . import model\nfiles("railgauge.fixtures")\n',
    "fixtures/a.py": "from railgauge.topo import model\n",
    "tests/a.py": "from railgauge.fixtures import build\n",
    "collectives/native/a.cc": '#include <vector>\n#include "ring.h"\n#include "transports/native/transport.h"\n',
    "collectives/native/ring.h": "// transports/native/transport.h\n",
}


def lay(root, sources):
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("case", BAD)
def test_checker_finds(case, tmp_path):
    name, text = BAD[case]
    lay(tmp_path, GOOD | {name: text})
    assert {found.split(":")[0] for found in violations(tmp_path)} == {name}


def test_checker_is_content_with_a_good_tree(tmp_path):
    lay(tmp_path, GOOD)
    assert violations(tmp_path) == []
