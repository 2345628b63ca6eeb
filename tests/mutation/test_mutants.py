# SPDX-License-Identifier: Apache-2.0
"""Mutants are what `python -m tests.mutation` says they are: each changes the code, and a seed draws the same ones."""

import ast
import subprocess
import sys

import pytest
from tests.mutation.__main__ import equivalent
from tests.mutation.mutants import draw, mutants, mutated
from tests.mutation.tree import ROOT
from tests.patience import HANGS_AFTER_S

SAMPLE = '''
"""Words."""
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 3

@dataclass(frozen=True)
class One:
    """Words."""

    size: "int | None" = 2

    def text(self, low: float = 0.5) -> "str | None":
        def inner() -> bool:
            return not low
        if self.size is None or low > 1:
            raise ValueError("low")
        self.size += 1
        return f"{low:.1f}" if inner() else os.fsdecode(b"x")
'''

EACH = [
    ("comparison", "a < b", ["a <= b", "a >= b"]),
    ("comparison", "a not in b", ["a in b"]),
    ("and for or", "a and b", ["a or b"]),
    ("operand", "a and b and c", ["b and c", "a and c", "a and b"]),
    ("operand", "a or b", ["b", "a"]),
    ("sign", "not a", ["a"]),
    ("constant", "f(3)", ["f(4)", "f(2)"]),
    ("constant", "f(True)", ["f(False)"]),
    ("constant", "f(0.8)", ["f(1.0)"]),
    ("arithmetic", "a - b", ["a + b"]),
    ("arithmetic", "a += b", ["a -= b"]),
    ("branches", "a if b else c", ["c if b else a"]),
    ("branches", "if a:\n    b", ["if not a:\n    b"]),
    ("filter", "[a for a in b if a]", ["[a for a in b]"]),
    ("slice", "a[1:]", ["a[:]"]),
    ("function", "min(a, b)", ["max(a, b)"]),
    ("keyword", "f(a, b=c, **d)", ["f(a, **d)"]),
    ("statement", "raise A", ["pass"]),
    ("statement", "a.b = c", ["pass"]),
    ("return", "def f():\n    return [a]", ["def f():\n    return None", "def f():\n    return []"]),
    (
        "exception",
        "try:\n    a\nexcept (A, B):\n    b",
        ["try:\n    a\nexcept (B,):\n    b", "try:\n    a\nexcept (A,):\n    b"],
    ),
]


@pytest.mark.parametrize(("operator", "source", "wanted"), EACH)
def test_an_operator_makes_its_changes_and_no_other(operator, source, wanted):
    own = [one for one in mutants(source, "a.py") if one.operator == operator]
    assert [mutated(source, one.number).strip() for one in own] == wanted


def test_each_mutant_is_another_program():
    right = ast.unparse(ast.parse(SAMPLE))
    found = mutants(SAMPLE, "a.py")
    programs = [mutated(SAMPLE, one.number) for one in found]
    assert all(program.strip() != right for program in programs)
    assert all(one.was != one.now for one in found)
    assert len(set(programs)) == len(programs)
    assert {one.function for one in found} >= {"One", "One.text", "One.text.<locals>.inner"}


def test_words_types_and_declarations_stay():
    lines = {one.line for one in mutants(SAMPLE, "a.py")}
    whole = SAMPLE.splitlines()
    assert not {whole[line - 1].strip() for line in lines} & {"LIMIT = 3", "@dataclass(frozen=True)", '"""Words."""'}


def test_a_seed_draws_the_same_mutants_and_no_line_twice():
    drawn = draw(ROOT, "cli/topo", seed=7, count=30)
    assert drawn == draw(ROOT, "cli/topo", seed=7, count=30)
    assert drawn != draw(ROOT, "cli/topo", seed=8, count=30)
    assert len({(one.path, one.line) for one in drawn}) == 30


def test_a_folder_without_as_many_lines_gives_all_of_them(tmp_path):
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "one.py").write_text("A = 1\nB = 2\n")
    assert {one.line for one in draw(tmp_path, "few", seed=1, count=40)} == {1, 2}


def test_the_command_lists_what_it_draws():
    command = [sys.executable, "-m", "tests.mutation", "--seed", "7", "--count", "3", "--list", "cli/topo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True)
    drawn = draw(ROOT, "cli/topo", seed=7, count=3)
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == [f"{one.path}:{one.line}" for one in drawn]


def test_what_is_listed_as_equivalent_is_a_mutant_of_today():
    for path, function, was, now in equivalent():
        found = {one.place for one in mutants((ROOT / path).read_text(), path)}
        assert (path, function, was, now) in found
