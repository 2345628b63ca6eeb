# SPDX-License-Identifier: Apache-2.0
"""Sends and receives on simulated GPUs, which run the kernel of real ones (tests/gpu/messages.py)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.gpu.messages import CASES
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]


def run(fake_gpus, case: str, ranks: int, *more: str) -> None:
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(ranks))
    command = (sys.executable, "-m", "tests.gpu.messages", case, "--ranks", str(ranks), *more)
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("case", CASES)
def test_on_three_gpus(fake_gpus, case):
    run(fake_gpus, case, 3)


@pytest.mark.parametrize(("case", "ranks"), [("all_to_all", 9), ("many", 2)])
def test_more_than_one_kernel_takes(fake_gpus, case, ranks):
    run(fake_gpus, case, ranks)


def test_between_hosts(fake_gpus):
    run(fake_gpus, "all_to_all", 4, "--hosts", "2")
