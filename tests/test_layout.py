# SPDX-License-Identifier: Apache-2.0
"""The layout: five folders at the root, seen as one package through relative links; a licence line in every source."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "railgauge"
FOLDERS = ("topo", "transports", "collectives", "cli", "fixtures")
MOST_LINES = 400
"""Of a Python file: a longer one holds more than one concept."""
SUFFIXES = {".py", ".c", ".cc", ".h", ".cu", ".cuh"}


def sources(root):
    """Every source file under the repository's own folders, links not followed."""
    for folder in (*FOLDERS, "src", "tests", "benchmarks"):
        for where, _, names in os.walk(root / folder):
            yield from (path for path in map(pathlib.Path(where).joinpath, names) if path.suffix in SUFFIXES)


def unlicensed(root):
    return sorted(
        str(path.relative_to(root))
        for path in sources(root)
        if path.stat().st_size
        and not any("SPDX-License-Identifier: Apache-2.0" in line for line in path.read_text().splitlines()[:3])
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_package_link_is_relative_and_points_to_the_root_folder(folder):
    link = PACKAGE / folder
    assert link.is_symlink()
    assert os.readlink(link) == f"../../{folder}"
    assert (link / "__init__.py").is_file()


def test_package_holds_no_other_folder():
    assert {p.name for p in PACKAGE.iterdir() if p.is_dir()} - {"__pycache__"} == {*FOLDERS, "_native"}


def test_folder_of_the_extension_holds_its_stubs_alone():
    assert {p.suffix for p in (PACKAGE / "_native").iterdir()} == {".pyi"}  # an __init__.py would hide the extension


def test_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_every_source_names_its_licence():
    assert unlicensed(ROOT) == []


def test_a_source_without_licence_is_found(tmp_path):
    (tmp_path / "topo").mkdir()
    (tmp_path / "topo" / "bare.py").write_text('"""No licence."""\n')
    (tmp_path / "topo" / "good.h").write_text("// SPDX-License-Identifier: Apache-2.0\n")
    assert unlicensed(tmp_path) == ["topo/bare.py"]


def test_no_python_file_is_long():
    """Benchmarks are not counted."""
    python = (
        path for path in sources(ROOT) if path.suffix == ".py" and path.relative_to(ROOT).parts[0] != "benchmarks"
    )
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in python}
    assert len(lines) > 1000
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}
