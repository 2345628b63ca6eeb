# SPDX-License-Identifier: Apache-2.0
"""Which functions each test file enters, in its own process and in those that it starts: kept in a file of JSON, and
asked anew for a test file when that has changed.
"""

import hashlib
import json
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.tree import ROOT, Tree, Trees

LIMIT_S = 120.0
"""For one test file, traced, which takes it about twice its time; what it entered until then counts."""
LAYERS = ("topo", "transports", "collectives", "cli")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Reach:
    """Of one test file."""

    digest: str
    seconds: float
    functions: tuple[str, ...]
    failed: tuple[str, ...]
    """Tests that fail without any fault: they show nothing."""


class Map:
    """Of all test files that were asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self._of = {name: Reach(**one) for name, one in kept.items()}

    def ask(self, trees: Trees, folder: str) -> None:
        """Run the test files of a folder of the code and of those that build on it, where it is not known yet."""
        names = test_files(folder)
        new = [name for name in names if name not in self._of or self._of[name].digest != digest(name)]
        for place, (name, found) in enumerate(zip(new, trees.map(traced, new), strict=True), 1):
            print(f"which functions {name} enters: {place} of {len(new)}", flush=True)
            self._of[name] = found
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({name: asdict(one) for name, one in self._of.items()}), encoding="utf-8")
        self._of = {name: self._of[name] for name in names}

    def tests(self, mutant: Mutant) -> list[str]:
        """The test files that enter its function, those named like its file first, then the quickest.

        What runs on import is seen by those that enter any function of the file, or else that import it.
        """
        reached = [name for name, one in self._of.items() if f"{mutant.path}:{mutant.function}" in one.functions]
        if mutant.function == "<module>" or not reached:
            own = {
                name: [f for f in one.functions if f.startswith(f"{mutant.path}:")] for name, one in self._of.items()
            }
            entered = [name for name, found in own.items() if any(not f.endswith(":<module>") for f in found)]
            reached = entered or [name for name, found in own.items() if found]
        stem = f"test_{Path(mutant.path).stem}"
        return sorted(reached, key=lambda name: (Path(name).stem != stem, self._of[name].seconds))

    def seconds(self, test_file: str) -> float:
        """What it takes, traced."""
        return self._of[test_file].seconds

    def failed(self, test_file: str) -> tuple[str, ...]:
        """Its tests that fail without any fault."""
        return self._of[test_file].failed


def test_files(folder: str) -> list[str]:
    """Of a folder of the code and of those that build on it, and those of collectives on GPUs."""
    folders = (*LAYERS[LAYERS.index(folder.split("/")[0]) :], "gpu")
    return sorted(str(path.relative_to(ROOT)) for one in folders for path in (ROOT / "tests" / one).rglob("test_*.py"))


def traced(tree: Tree, name: str) -> Reach:
    """One test file, run for what it enters."""
    into = tree.root.parent / "reached"
    into.unlink(missing_ok=True)
    tree.trace(into)
    began = time.monotonic()
    try:
        _, printed = tree.pytest("-rfE", name, limit_s=LIMIT_S)
    finally:
        tree.trace(None)
    lines = into.read_text(encoding="utf-8").splitlines() if into.exists() else []
    failed = tuple(dict.fromkeys(FAILED.findall(printed)))
    return Reach(digest(name), round(time.monotonic() - began, 2), tuple(sorted(set(lines))), failed)


def digest(name: str) -> str:
    """Of a file's content."""
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()[:16]
