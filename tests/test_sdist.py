# SPDX-License-Identifier: Apache-2.0
"""The sdist holds what a build needs: its CMakeLists.txt names the sources, and no folder is in it twice."""

import re
import tarfile
from pathlib import Path

import pytest
from scikit_build_core.build import build_sdist

ROOT = Path(__file__).parents[1]
SOURCES = re.compile(r"\$\{(source|plugin)\}/([\w/]+\.(?:cc|cu|map))")
"""In CMakeLists.txt; tests are built from a checkout only."""
FOLDERS = {"source": "src/railgauge", "plugin": "src/railgauge/collectives/native/nccl_plugin"}
BESIDE = ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "man/railgauge.1", "src/railgauge/py.typed")


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build_sdist(str(folder))
    with tarfile.open(folder / name) as archive:
        return {member.name.partition("/")[2]: member for member in archive}


def test_what_a_build_reads_is_there(members):
    named = SOURCES.findall((ROOT / "CMakeLists.txt").read_text())
    assert len(named) > 100
    wanted = {*BESIDE, *(f"{FOLDERS[folder]}/{path}" for folder, path in named)}
    wanted |= {f"src/railgauge/{path.relative_to(ROOT)}" for path in (ROOT / "topo").rglob("*.h")}
    assert sorted(wanted - members.keys()) == []


def test_links_are_real_copies_and_no_folder_is_there_twice(members):
    assert [name for name, member in members.items() if member.issym() or member.islnk()] == []
    assert {"topo", "collectives", "cli"}.isdisjoint(name.partition("/")[0] for name in members)
