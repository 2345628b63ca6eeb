# SPDX-License-Identifier: Apache-2.0
"""`backend="railgauge"` of torch.distributed: our own checks, and those that PyTorch ships, on forks of one process."""

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.collectives.torch.suite_verdict import verdict
from tests.patience import HANGS_AFTER_S

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGES = ROOT / f"build/peers/torch/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
SUITE = tomllib.loads((HERE / "suite.toml").read_text())
pytestmark = pytest.mark.skipif(not (PACKAGES / "torch").exists(), reason="torch is not there: scripts/peers torch")


def python(*args, **env):
    """Run this Python with torch, to its end."""
    return subprocess.run(
        [sys.executable, *args],
        cwd=ROOT,
        env=clean_environment(PYTHONPATH=f"{PACKAGES}{os.pathsep}{ROOT}", OMP_NUM_THREADS="1", **env),
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("checks", "ranks"),
    [
        ("checks_operations", 3),
        ("checks_training", 2),
        ("checks_joining", 2),
        ("checks_failures", 3),
        ("checks_cuda", 1),
    ],
)
def test_on_ranks(checks, ranks):
    done = python("-m", "tests.collectives.torch.ranks", checks, str(ranks))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr[-4000:]


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_pytorch_tests_of_back_ends(ranks):
    names = SUITE["together"]
    done = python(str(HERE / "suite.py"), "--together", "railgauge", str(ranks), *names)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"test"')]
    assert [one for one in found if one["outcome"] == "fail"] == [], done.stderr[-4000:]
    assert [one["test"] for one in found] == names


def test_an_example_prints_its_losses_and_nothing_else():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "WORLD_SIZE": "2"}
    with ThreadPoolExecutor() as both:
        done = list(both.map(lambda rank: python("examples/fsdp2.py", RANK=str(rank), **where), range(2)))
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    first, last = (float(loss) for loss in re.findall(r"loss ([\d.]+) on 2 ranks, cpu", done[0].stdout))
    assert last < first / 2
    assert done[1].stdout == ""


def test_exceptions_have_reasons_and_are_not_run():
    reasons = SUITE["exceptions"]["gloo"] | SUITE["exceptions"]["nccl"]
    assert all(len(reason) > 20 for reason in reasons.values())
    assert not SUITE["exceptions"]["gloo"].keys() & set(SUITE["together"])


def test_a_test_that_only_gloo_passes_is_found():
    known = SUITE["exceptions"]["gloo"]
    exception = next(iter(known))
    gloo = {"test_b": "pass", "test_c": "skip", exception: "pass"}
    ours = {"test_a": "pass", "test_b": "fail", exception: "fail"}
    behind = sorted(["test_b", exception])
    assert verdict(ours, gloo, known) == (behind, [], ["test_b"], [])
    assert verdict(ours, gloo | {"test_b": "not run"}, known) == ([exception], [], [], ["test_b"])
    assert verdict({"test_b": "pass", exception: "pass", "test_d": "hang"}, gloo, known) == (
        *([], [exception], []),
        ["test_d"],
    )


LEFT_OPEN = """
import ctypes, sys, torch, torch.distributed as dist, railgauge.torch
dist.init_process_group("railgauge", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.group.WORLD))  # as torch's C++ code may
dist.all_reduce(torch.ones(1))
"""


def test_a_program_whose_group_is_held_to_the_end_prints_nothing(tmp_path):
    done = python("-c", LEFT_OPEN, str(tmp_path / "group"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
