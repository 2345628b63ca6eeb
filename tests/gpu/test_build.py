# SPDX-License-Identifier: Apache-2.0
"""Which kernels the scripts build, and whether the demo runs on GPUs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment

SCRIPTS = Path(__file__).parents[2] / "scripts"
OFF = "-DRAILGAUGE_CUDA=OFF"


@pytest.mark.parametrize(
    ("told", "asked", "kernels"),
    [
        ("9.0\n9.0\n", "", "-DRAILGAUGE_CUDA_ARCHITECTURES=90"),
        ("12.0\n7.5\n", "-DRAILGAUGE_TESTS=ON", "-DRAILGAUGE_CUDA_ARCHITECTURES=75;120"),
        ("No devices were found\n", "", OFF),
        ("[N/A]\n", "", OFF),
        ("", "", OFF),
        ("9.0\n", "-DRAILGAUGE_CUDA_ARCHITECTURES=80", ""),
    ],
)
def test_kernels_are_built_for_the_gpus_that_are_here(tmp_path, told, asked, kernels):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nprintf '{told}'\n")
    program.chmod(0o755)
    env = clean_environment(CMAKE_ARGS=asked)
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    assert subprocess.check_output([SCRIPTS / "kernels"], env=env, text=True).strip() == kernels


@pytest.mark.parametrize("gpus", [0, 2])
def test_the_demo_runs_on_the_gpus_that_ranks_can_use(fake_gpus, gpus):
    env = clean_environment(**fake_gpus(gpus))
    assert subprocess.check_output([sys.executable, SCRIPTS / "usable_gpus"], env=env, text=True) == f"{gpus}\n"
