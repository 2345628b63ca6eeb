# SPDX-License-Identifier: Apache-2.0
"""Communicators of some simulated GPUs (tests/gpu/parts.py)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("case", "ranks", "hosts"), [("split", 5, 1), ("split", 4, 2), ("abort", 2, 1), ("blocks", 2, 1), ("seconds", 2, 1)]
)
def test_parts(fake_gpus, case, ranks, hosts):
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(ranks))
    command = (sys.executable, "-m", "tests.gpu.parts", case, "--ranks", str(ranks), "--hosts", str(hosts))
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr
