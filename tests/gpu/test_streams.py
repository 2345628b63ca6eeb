# SPDX-License-Identifier: Apache-2.0
"""Operations of one communicator on several streams and in graphs, on simulated GPUs (tests/gpu/streams.py)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.gpu.streams import CASES, WAYS
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]


def run(fake_gpus, *asked: str, ranks: int = 2) -> subprocess.CompletedProcess:
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(ranks))
    command = (sys.executable, "-m", "tests.gpu.streams", *asked, "--ranks", str(ranks))
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )


UNLIKE = ("full_lines", "push", "copies")
TRIED = [("two", way) for way in WAYS] + [(case, way) for case in CASES if case != "two" for way in UNLIKE]


@pytest.mark.parametrize(("case", "way"), TRIED)
def test_operations_run_one_after_another(fake_gpus, case, way):
    result = run(fake_gpus, case, "--way", way)
    assert result.returncode == 0, result.stderr


def test_three_ranks(fake_gpus):
    result = run(fake_gpus, "two", "--way", "parts", ranks=3)
    assert result.returncode == 0, result.stderr
