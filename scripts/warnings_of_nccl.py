# SPDX-License-Identifier: Apache-2.0
"""Counts the warnings of NCCL and RCCL by the finding that `log explain` files them under.

`python -m scripts.warnings_of_nccl REPOSITORY TAG... [-- REPOSITORY TAG...]` reads the sources of tags of cloned
repositories: every text that is given to WARN, with its placeholders filled in, is looked up as a line of a log is. It
prints counts; --missing names the files and lines of the texts that no card has. Nothing of the sources is kept.
"""

import argparse
import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, entry_of

SOURCES = ("*.cc", "*.h", "*.cu", "*.cpp")
CALL = re.compile(r"\bWARN\s*\(")
TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\\\n')
PLACEHOLDER = re.compile(r"%[-+ 0#]*\d*(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j)?([a-zA-Z])")
ESCAPE = re.compile(r"\\(.)")
LEAST = 0.95
"""Share of the texts that has to be known."""


class Warned(NamedTuple):
    """A text of a warning, with the first source file that has it."""

    text: str
    path: str


def main() -> None:
    """Count and print; exit status 1 below the least share."""
    parser = argparse.ArgumentParser(prog="warnings_of_nccl", description=__doc__.splitlines()[0])
    parser.add_argument("--missing", action="store_true", help="name the texts that no card has, by file")
    options, rest = parser.parse_known_args()
    warned = list(dict.fromkeys(itertools.chain.from_iterable(_of_repositories(rest))))
    texts = {one.text: one for one in reversed(warned)}
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    missing = []
    for one in texts.values():
        entry = entry_of(as_logged(one), "WARN")
        if entry is None:
            missing.append(one)
            continue
        found[entry.card.id] += 1
        kinds["a part of NCCL" if entry.pattern.general > OF_A_FAULT else "a fault"] += 1
    for identifier, times in found.most_common():
        print(f"{times:5} {identifier}")
    known = len(texts) - len(missing)
    share = known / len(texts) if texts else 0.0
    print(
        f"{known} of {len(texts)} texts are known ({share:.1%}): {', '.join(f'{n} by {k}' for k, n in kinds.items())}"
    )
    if options.missing:
        print("\n".join(sorted({one.path for one in missing})))
    sys.exit(share < LEAST)


def _of_repositories(words: list[str]) -> Iterator[Iterator[Warned]]:
    for separator, group in itertools.groupby(words, lambda word: word == "--"):
        if not separator:
            repository, *tags = group
            yield from (warnings_of(repository, tag) for tag in tags)


def warnings_of(repository: str, tag: str) -> Iterator[Warned]:
    """The warnings of a tag."""
    listed = _git(repository, "grep", "-lE", r"\bWARN *\(", tag, "--", *SOURCES)
    for path in (line.partition(":")[2] for line in listed.splitlines()):
        if "contrib/" in path or "test/" in path:
            continue
        for text in texts_of(_git(repository, "show", f"{tag}:{path}")):
            yield Warned(text, path)


def _git(repository: str, *words: str) -> str:
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, timeout=120, check=True)
    return done.stdout.decode("utf-8", "replace")


def texts_of(source: str) -> Iterator[str]:
    """The first arguments of all calls of WARN: literals joined, macros between them as a placeholder."""
    for call in CALL.finditer(source):
        position, text = call.end(), ""
        while found := TOKEN.match(source, position):
            word = found[0]
            text += (
                word[1:-1] if word.startswith('"') else "d" if word.startswith("PRI") else "%s" if word.strip() else ""
            )
            position = found.end()
        if text.replace("%s", "").strip():
            yield text


def as_logged(one: Warned) -> str:
    """A text as a log has it, behind its source."""
    text = PLACEHOLDER.sub(lambda found: "abc" if found[1] == "s" else "17", one.text).replace("%%", "%")
    return f"{one.path.removeprefix('src/')}:12 {ESCAPE.sub(lambda found: ' ' if found[1] == 'n' else found[1], text)}"


if __name__ == "__main__":
    main()
