# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU as a DMA-BUF: made up, and on a GPU that is there (`pytest -s` shows what came)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.device import why_no_gpu

ROOT = Path(__file__).parents[2]


def exported(**environment):
    asked = (sys.executable, "-m", "tests.gpu.dma_buf")
    env = clean_environment(**environment)
    result = subprocess.run(asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True)
    print(result.stdout)
    return json.loads(result.stdout)


def holds_the_memory(one):
    return one["begins_at"] + one["bytes"] <= one["fd_bytes"]


def test_a_descriptor_of_whole_pages_holds_the_memory(fake_gpus):
    for one in exported(**fake_gpus(1)):
        assert one["begins_at"] == one["offset"]
        assert holds_the_memory(one)


def test_what_the_driver_answers_is_told(fake_gpus):
    for one in exported(**fake_gpus(1, faults="cuMemGetHandleForAddressRange=801")):
        assert one["error"].startswith("cuMemGetHandleForAddressRange of ")
        assert "CUDA_ERROR_NOT_SUPPORTED" in one["error"]


@pytest.mark.skipif(why_no_gpu() is not None, reason=f"needs a GPU: {why_no_gpu()}")
def test_on_a_gpu():
    for one in exported():
        assert one.get("error", "").startswith("cuMemGetHandleForAddressRange") or holds_the_memory(one)
