# SPDX-License-Identifier: Apache-2.0
"""What pages and comments quote is there: messages in tables, and files of the repository."""

import ast
import errno
import io
import os
import re
import subprocess
import tokenize
from pathlib import Path

import pytest
from tests.sources import nodes

ROOT = Path(__file__).parents[2]
LAYERS = ("topo", "transports", "collectives", "cli")
OTHERS = ("There are not enough slots available",)
"""Messages of other programs."""
LEAST = 8
"""Characters of a part of a text in the code that count."""
PATH = re.compile(
    r"(?<![\w/.<-])(?:topo|transports|collectives|cli|tests|scripts|fixtures|benchmarks|docs)/[\w/-]+\.(?:py|h|cc|cuh?|sh|md)\b"
)
FINDING = re.compile(r"^ {4,}(?:(?:PASS|INFO|WARN|FAIL|UNKNOWN) [a-z0-9-]+|effect|remedy): (.+)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"NAME|MACHINE|X\.")
SOURCES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def code_texts():
    """The constant parts of all texts in the code, Python's and C++'s."""
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        yield from (one.value for one in nodes(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.cc"):
            yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text())


def quoted():
    """(page, message) of each code span in the column `message` of a table."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        column = None
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
            if "message" in cells:
                column = cells.index("message")
            elif not cells:
                column = None
            elif column is not None and column < len(cells):
                yield from ((page, one) for one in re.findall(r"`([^`]+)`", cells[column]) if one not in OTHERS)


def quoted_findings():
    """(page, text) of each finding, effect and remedy in a block of a page."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        yield from ((page, text) for text in FINDING.findall(page.read_text()))


@pytest.fixture(scope="module")
def known():
    parts = {part.strip() for text in code_texts() for part in (text, *re.split("[:;,(]", text))}
    parts |= {os.strerror(number) for number in errno.errorcode}
    return sorted((part for part in parts if len(part) >= LEAST), key=len, reverse=True)


def test_messages_that_pages_quote_are_in_the_code(known):
    found = list(quoted())
    assert len(found) > 25
    assert [(str(page.relative_to(ROOT)), message) for page, message in found if unknown(message, known)] == []


def test_findings_that_pages_quote_are_in_the_code(known):
    found = list(quoted_findings())
    assert len(found) > 50
    assert [(str(page.relative_to(ROOT)), text) for page, text in found if unknown(text, known)] == []


def unknown(message, known):
    """The first three words in a row that stand in no text of the code; empty if there are none."""
    left = re.sub(r"[a-z]+-?\d+", "\0", message)  # a name
    for text in known:
        left = left.replace(text, "\0")
    runs = re.findall(r"[a-z]{2,} [a-z]{3,}(?: [a-z]{2,})+", left)
    return runs[0] if runs else ""


def words_about_code():
    """(file, text) of each comment and docstring, where a file has a path at all."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.cc", "*.h", "*.cu"], cwd=ROOT, capture_output=True, text=True
    )
    for name in listed.stdout.split():
        text = (ROOT / name).read_text()
        if not PATH.search(text):
            continue
        if not name.endswith(".py"):
            yield name, "\n".join(re.findall(r"//.*|/\*.*?\*/", text, re.DOTALL))
            continue
        for node in nodes(ast.parse(text)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield name, node.value.value
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield name, token.string


def test_files_that_comments_and_docstrings_name_are_there():
    named = {(name, path) for name, text in words_about_code() for path in PATH.findall(text)}
    assert len(named) > 100
    real = sorted((name, path) for name, path in named if not PLACEHOLDER.search(path))
    assert [(name, path) for name, path in real if not (ROOT / path).exists()] == []
