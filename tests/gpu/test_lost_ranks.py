# SPDX-License-Identifier: Apache-2.0
"""Ranks on GPUs that are killed, stopped or interrupted in the middle of a run: no kernel and no process is left."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import clean_environment, command
from tests.hosts.waiting import until_at_work
from tests.patience import HANGS_AFTER_S

LONG = ("--device", "cuda", "-b", "1M", "-e", "1M", "-n", "1000000", "-z", "1")
"""The host waits for each operation: of a thousand that are queued, a CPU ends each as slowly as it runs kernels."""
FEW_BLOCKS = {"NCCL_MAX_CTAS": "4"}
"""On a simulated GPU one runs after the other."""


def start(*ranks, timeout_s=40, **env):
    """A run that would last minutes, and the processes of its ranks; returns once they have connected."""
    launcher = subprocess.Popen(
        command("run", "all_reduce", *LONG, "--timeout", str(timeout_s), *ranks),
        env=clean_environment(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE="/dev/stderr", **FEW_BLOCKS, **env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert launcher.stderr is not None
    connected: dict[int, int] = {}
    while len(connected) < 3:
        line = launcher.stderr.readline()
        assert line, "the run ended early"
        if found := re.search(r":(\d+):\d+ \[(\d)\] NCCL INFO Connected all rings", line):
            connected[int(found[2])] = int(found[1])
    until_at_work(connected.values())
    return launcher, [connected[rank] for rank in range(3)]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("victim", "number", "timeout_s", "words"),
    [
        (1, signal.SIGKILL, 40, r"rank 1 (on \S+ is gone|was killed by signal 9)"),
        (0, signal.SIGKILL, 40, "rank 0 (is gone|was killed by signal 9)"),
        (2, signal.SIGSTOP, 12, r"rank 2 (on \S+ stopped answering|did not take part)"),
    ],
)
def test_a_lost_rank_is_named_and_nothing_is_left(fake_gpus, victim, number, timeout_s, words):
    """The launcher gives the others a tenth of the timeout to end by themselves, which they do where one is killed."""
    launcher, ranks = start("--ranks", "3", timeout_s=timeout_s, **fake_gpus(3))
    os.kill(ranks[victim], number)
    _, err = launcher.communicate(timeout=HANGS_AFTER_S)
    assert launcher.returncode == 4, err
    assert re.search(words, err), err
    assert number == signal.SIGSTOP or "was killed because" not in err, err
    assert not any(alive(pid) for pid in ranks)


@pytest.mark.parametrize("ranks", [("--ranks", "3"), ("-g", "3")], ids=["processes", "threads"])
def test_interrupted_is_130(fake_gpus, ranks):
    launcher, pids = start(*ranks, **fake_gpus(3))
    os.killpg(launcher.pid, signal.SIGINT)
    _, err = launcher.communicate(timeout=HANGS_AFTER_S)
    assert launcher.returncode == 130, err
    assert "Traceback" not in err
    assert not any(alive(pid) for pid in pids)
