# SPDX-License-Identifier: Apache-2.0
"""The same as on fake GPUs, on real ones: `pytest tests/gpu/test_on_gpus.py`, under 90 s on two."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment, railgauge
from tests.gpu.messages import CASES as MESSAGES
from tests.gpu.streams import CASES, WAYS
from tests.patience import HANGS_AFTER_S

from railgauge._native import collectives as native
from railgauge.collectives.device import why_no_gpu
from railgauge.collectives.operation import NUMBERS

ROOT = Path(__file__).parents[2]
WHY_NOT = why_no_gpu()
GPUS = 0 if WHY_NOT else native.gpu_count()
pytestmark = [
    pytest.mark.skipif(GPUS < 2, reason=f"needs two GPUs: {WHY_NOT or f'there is {GPUS}'}"),
    pytest.mark.timeout(120),
]
RANKS = sorted({2, min(GPUS, 4), GPUS})
P2P_OFF = {"NCCL_P2P_DISABLE": "1"}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    ("options", "settings"),
    [((), {}), (("--processes",), {}), (("--processes",), P2P_OFF), (("--processes", "--hosts", "2"), {})],
    ids=["threads", "processes", "through the host", "two hosts"],
)
def test_against_numpy(ranks, options, settings):
    asked = (sys.executable, "-m", "tests.gpu.matrix", "--ranks", str(ranks), *options)
    env = clean_environment(**settings)
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(" cases via ") == ranks


@pytest.mark.parametrize("ranks", [("-g", str(GPUS)), ("--ranks", str(GPUS))], ids=["threads", "processes"])
@pytest.mark.parametrize("collective", NUMBERS)
def test_from_bytes_to_many_slots(ranks, collective):
    """Odd sizes by every kernel: lines, full lines, slots; all types of the shortest."""
    for sizes in (("-b", "1", "-e", "5K", "-f", "17", "-d", "all"), ("-b", "99999", "-e", "64M", "-f", "23")):
        asked = ("run", collective, "--device", "cuda", *ranks, *sizes, "-n", "1", "-w", "1", "--json")
        result = railgauge(*asked, timeout=100)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["status"] == "ok"


@pytest.mark.parametrize(
    "asked", [*(("messages", case) for case in MESSAGES), ("parts", "split"), ("parts", "abort"), ("kinds",)]
)
def test_messages_parts_and_kinds(asked):
    ranks = () if asked == ("kinds",) else ("--ranks", str(GPUS))
    command = (sys.executable, "-m", f"tests.gpu.{asked[0]}", *asked[1:], *ranks)
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ranks", RANKS)
def test_a_late_rank_in_place_over_a_network(ranks):
    asked = (sys.executable, "-m", "tests.gpu.late_in_place", "--ranks", str(ranks))
    env = clean_environment(NCCL_SOCKET_IFNAME="lo")
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_launches_in_cuda_graphs():
    asked = ("-g", str(GPUS), "-G", "3", "-b", "8", "-e", "32M", "-f", "64", "-n", "2")
    result = railgauge("run", "all_reduce", "--device", "cuda", *asked)
    assert result.returncode == 0, result.stderr


def test_results_are_the_same_bits_from_run_to_run():
    asked = (sys.executable, "-m", "tests.gpu.bits", "--ranks", str(GPUS))
    told = [
        subprocess.run(
            asked, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True
        )
        for _ in range(2)
    ]
    assert told[0].stdout == told[1].stdout
    assert len(set(told[0].stdout.split())) == 1  # and on all ranks


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_operations_on_several_streams_run_one_after_another(case, way):
    asked = (sys.executable, "-m", "tests.gpu.streams", case, "--way", way, "--ranks", str(min(GPUS, 4)))
    env = clean_environment(NCCL_SOCKET_IFNAME="lo")
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_streams_and_graphs_of_pytorch(tmp_path):
    asked = (sys.executable, "-m", "tests.gpu.torch_streams")
    ranks = [
        subprocess.Popen(
            [*asked, str(rank), "2", str(tmp_path / "store")],
            cwd=ROOT,
            env=clean_environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [rank.communicate(timeout=HANGS_AFTER_S)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], told
