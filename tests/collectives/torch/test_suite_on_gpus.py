# SPDX-License-Identifier: Apache-2.0
"""How suite_on_gpus.py goes through tests, on ranks that only say what happened; and that its script needs GPUs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.collectives.torch import suite_on_gpus
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
    *found, end = results([sys.executable, "-c", RANK], 2, HANGS_AFTER_S)
    found.sort()  # a test waits for its slowest rank
    assert [(name, outcome) for name, outcome, _ in found] == [
        *(("test_a", "pass"), ("test_b", "fail"), ("test_c", "fail"), ("test_d", "skip")),
    ]
    assert found[2][2] == "a rank ended with 9"
    assert end[:2] == ("", "end")


LATE = """
import json, os, sys
mark, rank, done = sys.argv[1], sys.argv[2], json.loads(sys.stdin.readline())
def say(test, outcome):
    print(json.dumps({"test": test, "outcome": outcome, "why": ""}), flush=True)
for name in ("test_a", "test_b"):
    if name not in done:
        say(name, "begin")
        if name == "test_b" and rank == "1" and not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(9)
        say(name, "pass")
say("", "end")
"""


def test_what_an_earlier_test_ended_is_run_again(tmp_path):
    found = results([sys.executable, "-c", LATE, str(tmp_path / "mark")], 2, HANGS_AFTER_S)
    assert list(found) == [("test_a", "pass", ""), ("test_b", "pass", ""), ("", "end", "")]


def test_what_passed_elsewhere_is_not_run():
    found = results([sys.executable, "-c", RANK], 2, HANGS_AFTER_S, ["test_b", "test_c"])
    assert [one[:2] for one in found] == [("test_a", "pass"), ("test_d", "skip"), ("", "end")]


def test_without_time_for_all_it_fails(tmp_path, monkeypatch, capsys):
    other = tmp_path / "results"
    other.write_text('{"test": "test_a", "outcome": "pass"}\n{"test": "test_b", "outcome": "fail"}\n')
    asked = []

    def none(command, size, seconds, passed):
        asked.append(passed)
        yield "test_b", "not run", ""

    monkeypatch.setattr(suite_on_gpus, "results", none)
    with pytest.raises(SystemExit, match="nccl: not all tests were run within 5 s"):
        suite_on_gpus.main("nccl", "2", "5", other)
    assert asked == [["test_a"]]
    assert '"test_b"' in capsys.readouterr().out


def test_the_script_says_why_it_does_not_run(tmp_path):
    script = Path(__file__).parents[3] / "scripts" / "test-torch-gpu"
    env = clean_environment(PYTHON=sys.executable, CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(
        [script, tmp_path], env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "skipped: it needs two GPUs" in done.stderr
