# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from railgauge.collectives.launch.launch import (
    NAMES,
    Ended,
    Launch,
    environment_with_secret,
    launcher,
    run_command,
    variables_of,
)
from railgauge.topo.errors import UsageError

ENV = {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "eth0", "HOME": "/root", "RAILGAUGE_SECRET": "s3cret"}


def asked(*variables):
    return Launch(argv=["run", "all_reduce"], processes=2, variables=list(variables))


def test_every_launcher_gives_commands_and_starts_them():
    for name in NAMES:
        assert callable(launcher(name).commands)
        assert callable(launcher(name).start)
    with pytest.raises(UsageError, match="local, mpirun, srun, torchrun, ssh"):
        launcher("qsub")


def test_nccls_settings_and_what_x_names_reach_the_ranks():
    expected = {"NCCL_DEBUG": "WARN", "GLOO_SOCKET_IFNAME": "eth0", "HOME": "/root", "A": "b=c", "EMPTY": ""}
    assert variables_of(asked("HOME", "NCCL_DEBUG=WARN", "A=b=c", "EMPTY="), ENV) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NOWHERE", "NOWHERE is not set here"),
        ("--help", "is no variable"),
        ("A B=1", "is no variable"),
        ("=1", "is no variable"),
        ("RAILGAUGE_SECRET=1234", "export it instead"),
    ],
)
def test_a_wrong_x_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        variables_of(asked(text), ENV)


def test_the_secret_is_never_among_the_variables():
    assert "RAILGAUGE_SECRET" not in variables_of(asked("RAILGAUGE_SECRET"), ENV)


def test_a_job_has_the_secret_that_is_set_or_a_new_one(monkeypatch):
    monkeypatch.setenv("RAILGAUGE_SECRET", "s3cret")
    assert environment_with_secret()["RAILGAUGE_SECRET"] == "s3cret"
    monkeypatch.delenv("RAILGAUGE_SECRET")
    drawn = {environment_with_secret()["RAILGAUGE_SECRET"] for _ in range(3)}
    assert len(drawn) == 3
    assert all(len(secret) == 64 for secret in drawn)


@pytest.mark.parametrize(("status", "told"), [(0, 0), (2, 2), (4, 4), (130, 130), (1, 4), (137, 4), (255, 4)])
def test_a_status_that_is_not_railgauges_is_4_with_a_word(status, told, capfd):
    ended = run_command([sys.executable, "-c", f"print('out'); raise SystemExit({status})"])
    assert ended.status == told
    assert ended.reported
    assert capfd.readouterr().out == "out\n"
    assert (ended.message is None) == (status == told)


def test_a_command_that_prints_nothing_has_reported_nothing():
    assert run_command(["true"]) == Ended(0, None, reported=False)


STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
INTERRUPTED = f"""
import sys
from railgauge.collectives.launch.launch import run_command
run_command(["sh", "-c", "{sys.executable} -c \\"$0\\" & wait", {STUBBORN!r}])
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_signal_ends_the_whole_group(number, status):
    with subprocess.Popen(
        [sys.executable, "-P", "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"up\n"
        group = group_of_child(process.pid)
        process.send_signal(number)
        process.wait(20)
    assert process.returncode == status
    deadline = time.monotonic() + 5
    while group_lives(group):
        assert time.monotonic() < deadline, "the group outlives its launcher"
        time.sleep(0.02)


def group_of_child(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return os.getpgid(int(children.read().split()[0]))


def group_lives(group):
    """Whether one of its processes runs; dead ones may wait to be reaped."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                return True
    return False
