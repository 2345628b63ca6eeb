# SPDX-License-Identifier: Apache-2.0
"""Every collective on fake GPUs against NumPy, over each way that GPUs reach each other."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.gpu.fake_gpus import DOMAIN
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
P2P_OFF = {"NCCL_P2P_DISABLE": "1"}


@pytest.mark.parametrize(
    ("ranks", "options", "settings", "via"),
    [
        (5, (), {}, "['P2P/direct pointer']"),
        (3, ("--processes",), {}, "['P2P/IPC']"),
        (3, (), P2P_OFF, "['SHM']"),
        (3, ("--registered", "as it is", "--processes"), {}, "['P2P/IPC']"),
        (2, ("--registered", "symmetric"), {}, "['P2P/direct pointer']"),
        (4, ("--registered", "symmetric"), {}, "['P2P/direct pointer']"),
        (4, ("--hosts", "2"), {}, "['NET/Socket/0', 'P2P/direct pointer']"),
        (4, ("--processes", "--hosts", "2"), {"NVML_FABRIC": DOMAIN}, "['P2P/IPC', 'P2P/MNNVL']"),
        (2, ("--registered", "symmetric", "--hosts", "2"), {"NVML_FABRIC": DOMAIN}, "['P2P/MNNVL']"),
        (12, ("--pairs",), {}, "['P2P/direct pointer']"),
    ],
    ids=[
        *("five", "processes", "through the host", "registered", "two symmetric", "symmetric", "two hosts"),
        *("NVLink between hosts", "registered between hosts", "twelve in pairs"),
    ],
)
def test_against_numpy(fake_gpus, ranks, options, settings, via):
    asked = (sys.executable, "-m", "tests.gpu.matrix", "--ranks", str(ranks), *options)
    env = clean_environment(**fake_gpus(ranks), **settings)
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert sum(line.endswith(f"cases via {via}") for line in result.stdout.splitlines()) == ranks, result.stdout
