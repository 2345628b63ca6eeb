# SPDX-License-Identifier: Apache-2.0
"""NCCL's own libraries as judges: each release that scripts/peers installed, asked without a GPU.

ncclGetUniqueId reads configuration files and chooses the interface of the bootstrap; ncclCommInitRank goes on to CUDA,
which a machine without GPUs does not have. `make test-nccl` asks every release of the package index.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
PEERS = Path(os.environ.get("PEERS", ROOT / "build/peers"))
CASES = int(os.environ.get("NCCL_CASES", "25"))
"""Random machines or files for each release; three questions are asked of each."""


@dataclass(frozen=True, order=True)
class Release:
    """A release, (2, 28, 9), and its library."""

    version: tuple[int, ...]
    library: Path

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def installed() -> list[Release]:
    """The releases that are there, the oldest first."""
    found = {}
    for path in PEERS.glob("nccl-*/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"):
        name = re.search(r"/nccl-(\d+(?:\.\d+)+)", str(path))
        found[tuple(map(int, name[1].split(".")))] = path
    return sorted(Release(version, path) for version, path in found.items())


NONE = pytest.param(None, marks=pytest.mark.skip(reason=f"no NCCL in {PEERS}: scripts/peers nccl-2.32.3 installs one"))
each_release = pytest.mark.parametrize("release", installed() or [NONE], ids=str)


@dataclass(frozen=True)
class Answer:
    """What NCCL did: its result (ncclResult_t), what it printed, the variables that its process then had."""

    status: int
    pid: int
    said: str
    environment: dict[str, str]


class Worker:
    """A program that answers each line of JSON with one."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"]},
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(HANGS_AFTER_S)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def ask(self, question: Mapping[str, object]) -> dict:
        """The answer; `asked.py` ends a question that hangs."""
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


class Nccl(Worker):
    """A release; `prefix` is the command that starts it elsewhere, such as in a namespace."""

    def __init__(self, release: Release, *prefix: str) -> None:
        super().__init__(*prefix, sys.executable, str(Path(__file__).with_name("asked.py")), str(release.library))

    def under(self, environment: Mapping[str, str], *, joins: bool = False) -> Answer:
        """NCCL under an environment; `joins`: a communicator of one rank is made too."""
        answer = self.ask({"environment": environment, "joins": joins})
        pairs = (one.partition("=")[::2] for one in answer["environment"])
        return Answer(answer["status"], answer["pid"], answer["said"], dict(pairs))


class Ours(Worker):
    """railgauge's answers, of ours.py."""

    def __init__(self, *prefix: str) -> None:
        super().__init__(*prefix, sys.executable, "-m", "tests.nccl.ours")
