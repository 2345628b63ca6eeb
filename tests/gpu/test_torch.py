# SPDX-License-Identifier: Apache-2.0
"""`backend="railgauge"` of torch on simulated GPUs."""

import os
import re
import subprocess
import sys

from tests.cli.command import clean_environment
from tests.collectives.torch.test_torch import PACKAGES, ROOT, pytestmark
from tests.patience import HANGS_AFTER_S

__all__ = ["pytestmark"]


def test_a_killed_rank_is_named_on_all_others(fake_gpus, tmp_path):
    path = f"{PACKAGES}{os.pathsep}{ROOT}"
    env = clean_environment(PYTHONPATH=path, OMP_NUM_THREADS="1", NCCL_SOCKET_IFNAME="lo", **fake_gpus(3))
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu.torch_ranks", tmp_path],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    words = r"railgauge: rank (\d) of group 0: all_reduce: rank 1 on \S+ is gone"
    assert sorted(re.findall(words, done.stdout)) == ["0", "2"], done.stdout
