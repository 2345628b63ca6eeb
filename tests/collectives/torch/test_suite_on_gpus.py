# SPDX-License-Identifier: Apache-2.0
"""How suite_on_gpus.py goes through tests, on ranks that only say what happened; and that its script needs GPUs."""

import subprocess
import sys
from pathlib import Path

from tests.cli.command import clean_environment
from tests.collectives.torch.suite_on_gpus import results
from tests.patience import HANGS_AFTER_S

RANK = """
import json, os, sys
rank, done = sys.argv[1], json.loads(sys.stdin.readline())
def say(test, outcome):
    print(json.dumps({"test": test, "outcome": outcome, "why": outcome}), flush=True)
for name in ("test_a", "test_b", "test_c", "test_d"):
    if name in done:
        continue
    say(name, "begin")
    if name == "test_c" and rank == "1":
        os._exit(9)
    say(name, "fail" if name == "test_b" and rank == "1" else "skip" if name == "test_d" else "pass")
say("", "end")
"""


def test_after_a_failure_the_next_ranks_go_on():
    found = sorted(results([sys.executable, "-c", RANK], 2, HANGS_AFTER_S))  # a test waits for its slowest rank
    assert [(name, outcome) for name, outcome, _ in found] == [
        *(("test_a", "pass"), ("test_b", "fail"), ("test_c", "fail"), ("test_d", "skip")),
    ]
    assert found[2][2] == "a rank ended with 9"


def test_the_script_says_why_it_does_not_run(tmp_path):
    script = Path(__file__).parents[3] / "scripts" / "test-torch-gpu"
    env = clean_environment(PYTHON=sys.executable, CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(
        [script, tmp_path], env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "skipped: it needs two GPUs" in done.stderr
