# SPDX-License-Identifier: Apache-2.0
"""What GPUs' patterns and arrays are tried by on a GPU (the files beside this one) passes on a fake one."""

import os
import re
import subprocess
import sys

from tests.gpu.fake_gpus import ROOT
from tests.patience import HANGS_AFTER_S

FILES = ("tests/gpu/test_patterns.py", "tests/gpu/test_gpu_arrays.py")
SKIPPED = 3
"""Two collectives that do not run in place, and an array of more elements than 32 bits count."""


def test_patterns_and_arrays_pass_on_a_made_up_gpu(fake_gpus):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | fake_gpus(1, memory=1 << 30),
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert ran.returncode == 0, ran.stdout
    passed, skipped = (int(found) for found in re.search(r"(\d+) passed, (\d+) skipped", ran.stdout).groups())
    assert (passed > 50, skipped) == (True, SKIPPED)
