# SPDX-License-Identifier: Apache-2.0
"""One name, one thing: no two modules of the package define a public class of the same name."""

import ast
import pathlib
from collections import defaultdict

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("topo", "transports", "collectives", "cli", "fixtures")


def homonyms(root):
    """The modules by class name, of the names that several modules define; private and nested classes do not count."""
    found = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            for name in {part.name for part in ast.parse(path.read_text()).body if isinstance(part, ast.ClassDef)}:
                if not name.startswith("_"):
                    found[name].append(str(path.relative_to(root)))
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_each_public_class_has_a_name_of_its_own():
    assert homonyms(ROOT) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("class Kind:\n    pass\n", {"Kind": ["cli/b.py", "topo/a.py"]}), ("class _Kind:\n    pass\n", {})],
)
def test_homonyms_are_found_across_folders(tmp_path, text, expected):
    for name in ("topo/a.py", "cli/b.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    assert {name: sorted(modules) for name, modules in homonyms(tmp_path).items()} == expected
