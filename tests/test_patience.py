# SPDX-License-Identifier: Apache-2.0
"""No test gives a process less time than tests/patience.py has: on a busy machine it would not be done."""

import ast
from pathlib import Path

import pytest

from tests.patience import HANGS_AFTER_S
from tests.sources import nodes

TESTS = Path(__file__).parent
WAITS = ("run", "communicate", "wait", "check_output")


def short_waits(source: str) -> list[int]:
    """The lines that wait for a process for fewer seconds, as a number; what is to be late gets less than one."""
    if "timeout=" not in source:
        return []
    return [
        node.lineno
        for node in nodes(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WAITS
        for given in node.keywords
        if given.arg == "timeout" and isinstance(given.value, ast.Constant) and 1 <= given.value.value < HANGS_AFTER_S
    ]


def test_processes_have_time():
    files = [path for path in TESTS.rglob("*.py") if "vm" not in path.parts]  # a VM's limits are its own
    assert len(files) > 300
    found = {str(path.relative_to(TESTS)): lines for path in files if (lines := short_waits(path.read_text()))}
    assert found == {}


@pytest.mark.parametrize(
    ("line", "short"),
    [
        ("subprocess.run(x, timeout=50)", [1]),
        ("process.communicate(timeout=60.0)", [1]),
        ("process.wait(timeout=HANGS_AFTER_S)", []),
        ("work.wait(timeout=0.01)", []),
        ("socket.create_connection(x, timeout=5)", []),
    ],
)
def test_short_waits_are_found(line, short):
    assert short_waits(line) == short
