# SPDX-License-Identifier: Apache-2.0
"""Plain operator's English: phrases that no message, help text, docstring or page may contain."""

import ast
import os
import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.sources import nodes

ROOT = pathlib.Path(__file__).parents[1]

# What is checked: folders with all their Python, C++, shell and Markdown files, and single files. Extend it with every
# folder that is done; of CHANGELOG.md only the part "Unreleased" counts.
FOLDERS = (
    "transports",
    "collectives",
    "benchmarks",
    "scripts",
    "fixtures",
    "src/railgauge",
    "topo",
    "cli",
    "docs",
    "Makefile",
    ".ci",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)

# A phrase, and the words to use in its place.
BANNED = {
    r"told": "reported, known",
    r"tells? of": "reports",
    r"made[- ]up": "simulated, synthetic, fake",
    r"that (is|are) none": "invalid, not a ...",
    r"is none of": "is not one of",
    r"mend(s|ed|ing)?": "fix",
    r"serves?": "works, runs, is for",
    r"comes? to": "is, amounts to, reaches",
    r"came of it": "the result",
    r"comes? of it": "the result",
    r"what all has to": "all traffic must",
    r"nothing odd": "no problem found",
    r"the odd ones?": "the ones that deviate",
    r"strangers?": "rejected connections, other programs",
    r"camps?": "group",
    r"kinship": "affinity",
    r"seats?": "placement",
    r"movers?": "copy method",
    r"couriers?": "proxy",
    r"passages?": "link traffic",
    r"whoever": "a process that, anyone who",
    r"alike": "the same",
    r"worth while": "pays off",
    r"anew": "again",
    r"goes by": "uses",
    r"(may|can|to) be had": "is available",
    r"another way": "another direction, transport, link",
    r"(is|are) there already": "exists",
    r"there and back": "round trip",
    r"one way(?! to)": "one direction",
    r"both ways": "both directions",
    r"each way": "each direction",
    r"no way to": "no route to, cannot",
    r"what else": "other load, other ...",
}
PATTERN = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)

# Quotations of other programs, and identifiers of documents, by file: exactly these texts may contain a phrase.
EXCEPTIONS: dict[str, tuple[str, ...]] = {"topo/findings/cluster/reach.py": ("stranger",)}  # a reason in JSON

SUFFIXES = {".py", ".cc", ".h", ".cu", ".cuh", ".c", ".md", ".sh", ""}
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')


def files(name: str) -> Iterator[pathlib.Path]:
    """Every file with such texts in a folder, links not followed; or that one file."""
    yield from (pathlib.Path(folder) / file for folder, _, files in os.walk(ROOT / name) for file in sorted(files))
    yield from [ROOT / name] if (ROOT / name).is_file() else []


def texts(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Lines and texts that people read: string literals and docstrings; of shell and Markdown everything."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from ((node.lineno, text) for node, text in _python(ast.parse(source)))
    elif path.suffix in {".cc", ".h", ".cu", ".cuh", ".c"}:
        for found in QUOTED.finditer(re.sub(r"//.*", "", source)):
            line = source.count("\n", 0, found.start()) + 1
            yield line, "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found[0]))
    else:
        yield from enumerate(_unreleased(source) if path.name == "CHANGELOG.md" else source.splitlines(), 1)


def _python(tree: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _unreleased(source: str) -> list[str]:
    """The lines before the first released version."""
    return re.split(r"^## \[?\d", source, maxsplit=1, flags=re.MULTILINE)[0].splitlines()


def found(path: pathlib.Path) -> list[str]:
    """Every banned phrase of a file: where, what, and the words to use."""
    name = str(path.relative_to(ROOT))
    lines = []
    for line, text in texts(path):
        for hit in PATTERN.finditer(" ".join(text.split())):
            if any(hit[0] in allowed and allowed in text for allowed in EXCEPTIONS.get(name, ())):
                continue
            better = next(words for phrase, words in BANNED.items() if re.fullmatch(phrase, hit[0], re.IGNORECASE))
            around = hit.string[max(0, hit.start() - 40) : hit.end() + 40]
            lines.append(f"{name}:{line}: {hit[0]!r} in ...{around}...: write {better}")
    return lines


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_banned_phrase(folder):
    hits = [hit for path in files(folder) if path.suffix in SUFFIXES for hit in found(path)]
    assert not hits, "\n".join(hits)


@pytest.mark.parametrize(
    ("suffix", "source", "phrases"),
    [
        (".py", 'error = f"rank {rank} is told of it"\n', ["told"]),
        (".py", '"""Serves all, though this # told is no comment."""\n', ["Serves", "told"]),
        (".py", "told = 1  # and this is told\n", []),
        (".cc", 'throw Error("a made-" "up GPU");  // it is told\n', ["made-up"]),
        (".md", "The cost comes\nto nothing; it comes to 5.\n", ["comes to"]),
    ],
)
def test_texts_are_found_and_code_is_not(tmp_path, suffix, source, phrases):
    path = tmp_path / f"file{suffix}"
    path.write_text(source)
    assert [hit[0] for _, text in texts(path) for hit in PATTERN.finditer(text)] == phrases
