# SPDX-License-Identifier: Apache-2.0
"""Rendering has one home: colours, the skeleton of pages, and ranges of numbers are each made in one file."""

import ast
from pathlib import Path

import pytest
from rich.color import ANSI_COLOR_NAMES
from rich.errors import StyleSyntaxError
from rich.style import Style

from tests.sources import nodes

ROOT = Path(__file__).parents[1]
FOLDERS = ("topo", "transports", "collectives", "cli")
PALETTE = "topo/render/palette.py"
MARKUP = "topo/render/markup.py"
SPANS = "topo/values/spans.py"
SKELETON = ("<!doctype html", "<html", "<svg ", "prefers-color-scheme")
XML = "topo/xml/"
"""Reads documents and refuses a doctype; it writes none."""
STYLE_WORDS = {"bold", "dim", "italic", "underline", "reverse", "blink", "strike", *ANSI_COLOR_NAMES}
TAKES_STYLE = ("style", "title_style", "guide_style", "border_style", "header_style")


def sources(root):
    """Each module below the folders of the package, with its path and tree."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield str(path.relative_to(root)), ast.parse(path.read_text(), path)


def texts(tree):
    """All strings of a module but those that stand alone, as docstrings do; those in f-strings too."""
    inside = nodes(tree)
    left_out = {id(node.value) for node in inside if isinstance(node, ast.Expr)}
    for node in inside:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def is_colour(text):
    """Whether a CSS colour stands in a text: #fff, #d8dee4, rgb(...), hsl(...)."""
    words = text.replace(";", " ").replace(",", " ").replace('"', " ").replace("'", " ").split()
    named = any(word.startswith(("rgb(", "rgba(", "hsl(", "hsla(")) for word in words)
    return named or any(
        word[0] == "#" and len(word) in (4, 7, 9) and all(char in "0123456789abcdefABCDEF" for char in word[1:])
        for word in words
    )


def is_style(text):
    """Whether a text is a style in Rich's words."""
    if not text.split() or not set(text.split()) <= STYLE_WORDS:
        return False
    try:
        return bool(Style.parse(text))
    except StyleSyntaxError:
        return False


def styles(tree):
    """Styles where one is meant: an argument or a name called style, one of several words, or an item beside a text."""
    for node in nodes(tree):
        if isinstance(node, ast.keyword) and node.arg in TAKES_STYLE:
            yield from (each for each in texts(ast.Expression(node.value)) if is_style(each))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = " ".join(each.id for target in targets for each in nodes(target) if isinstance(each, ast.Name))
            if any(word in names.lower() for word in ("style", "ink", "colour", "color")):
                yield from (each for each in texts(ast.Expression(node.value)) if is_style(each))
    yield from (each for each in texts(tree) if " " in each and is_style(each))


def second_palettes(root):
    """Modules with a colour or a terminal style of their own."""
    return sorted(
        {
            f"{path}: {text.strip()[:40]}"
            for path, tree in sources(root)
            if path != PALETTE
            for text in (*filter(is_colour, texts(tree)), *styles(tree))
        }
    )


def second_skeletons(root):
    """Modules that begin a page or a picture, or a dark theme, by themselves."""
    return sorted(
        {
            f"{path}: {mark}"
            for path, tree in sources(root)
            if path != MARKUP and not path.startswith(XML)
            for text in texts(tree)
            for mark in SKELETON
            if mark in text.lower()
        }
    )


def compares_with_the_next(node):
    """Whether a comparison is of an item with another one, or a loop's last, plus or minus 1, as folding runs takes."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if (
            isinstance(side, ast.BinOp)
            and isinstance(side.op, ast.Add | ast.Sub)
            and isinstance(side.right, ast.Constant)
            and side.right.value == 1
            and isinstance(side.left, ast.Name | ast.Subscript)
            and isinstance(other, ast.Name | ast.Subscript)
        ):
            return True
    return False


def joins_two_ends(node):
    """Whether an f-string is `{first}-{last}` of one sequence: a range."""
    if not isinstance(node, ast.JoinedStr):
        return False
    for first, dash, last in zip(node.values, node.values[1:], node.values[2:], strict=False):
        ends = [each.value for each in (first, last) if isinstance(each, ast.FormattedValue)]
        if len(ends) == 2 and isinstance(dash, ast.Constant) and dash.value == "-":
            of = [ast.unparse(each.value) if isinstance(each, ast.Subscript) else "" for each in ends]
            if of[0] and of[0] == of[1] and ast.unparse(ends[1].slice) == "-1":
                return True
    return False


def folds(function):
    """Whether a function folds numbers: it compares one with the next, and writes ranges or gathers runs."""
    inside = nodes(function)
    if not any(map(compares_with_the_next, inside)):
        return False
    gathers = any(isinstance(node, ast.Name) and "run" in node.id for node in inside)
    return gathers or any(map(joins_two_ends, inside))


def second_folds(root):
    """Functions that fold numbers by themselves."""
    return sorted(
        f"{path}: {node.name}"
        for path, tree in sources(root)
        if path != SPANS
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef) and folds(node)
    )


@pytest.mark.parametrize("look", [second_palettes, second_skeletons, second_folds])
def test_there_is_no_second_one(look):
    assert look(ROOT) == []


BAD = {
    "a colour of a picture": ("topo/render/a.py", "PAINT = ('.box', 'fill', '#e7ecf2')\n", second_palettes),
    "a colour within a style sheet": ("collectives/a.py", "S = f'a {{ color: #fff; }}'\n", second_palettes),
    "a colour as a function": ("cli/a.py", "S = 'a { color: rgb(1, 2, 3) }'\n", second_palettes),
    "a style as an argument": ("cli/a.py", "Text('yes', style='green')\n", second_palettes),
    "a table of styles": ("cli/a.py", "STYLE = {'FAIL': 'red'}\n", second_palettes),
    "a style of two words": ("cli/a.py", "x = ('FAIL', 'bold red')\n", second_palettes),
    "a page": ("cli/a.py", "x = '<!DOCTYPE html><p>'\n", second_skeletons),
    "a picture": ("collectives/a.py", "x = f'<svg width={w}>'\n", second_skeletons),
    "a dark theme": ("topo/a.py", "x = '@media (prefers-color-scheme: dark) {}'\n", second_skeletons),
    "runs in a loop": (
        "transports/a.py",
        "def f(xs):\n    runs = []\n    for x in xs:\n        if runs and runs[-1][-1] == x - 1:\n"
        "            runs[-1].append(x)\n        else:\n            runs.append([x])\n    return runs\n",
        second_folds,
    ),
    "ends of runs": (
        "topo/a.py",
        "def f(xs):\n    at = [i for i, x in enumerate(xs) if x != xs[i - 1] + 1]\n"
        "    return ','.join(f'{run[0]}-{run[-1]}' for run in at)\n",
        second_folds,
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_second_one_is_found(case, tmp_path):
    name, text, look = BAD[case]
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert [found.split(":")[0] for found in look(tmp_path)] == [name]
