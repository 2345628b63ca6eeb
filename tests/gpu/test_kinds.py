# SPDX-License-Identifier: Apache-2.0
"""Elements that are no numbers of a kernel's type, on simulated GPUs (tests/gpu/kinds.py)."""

import subprocess
import sys
from pathlib import Path

from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]


def test_bools_complex_numbers_and_short_integers(fake_gpus):
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2))
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    command = (sys.executable, "-m", "tests.gpu.kinds")
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr
