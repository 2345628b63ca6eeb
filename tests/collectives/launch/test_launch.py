# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import in_process
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch.hostfile import hosts_from
from railgauge.collectives.launch.launch import (
    NAMES,
    Ended,
    Launch,
    environment,
    exit_on_signals,
    launcher,
    run_command,
    variables_of,
)
from railgauge.collectives.launch.place import find_place
from railgauge.topo.errors import UnavailableError, UsageError

ENV = {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "eth0", "HOME": "/root", "RAILGAUGE_SECRET": "a s3cret of the test"}


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
        ("--help", "not a variable"),
        ("A B=1", "not a variable"),
        ("=1", "not a variable"),
        ("RAILGAUGE_SECRET=1234", "export it instead"),
    ],
)
def test_a_wrong_x_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        variables_of(asked(text), ENV)


def test_the_secret_is_never_among_the_variables():
    assert "RAILGAUGE_SECRET" not in variables_of(asked("RAILGAUGE_SECRET"), ENV)


def test_a_job_has_the_secret_that_is_set_or_a_new_one(monkeypatch):
    monkeypatch.setenv("RAILGAUGE_SECRET", "a s3cret of the test")
    assert environment(asked())["RAILGAUGE_SECRET"] == "a s3cret of the test"
    monkeypatch.delenv("RAILGAUGE_SECRET")
    drawn = {environment(asked())["RAILGAUGE_SECRET"] for _ in range(3)}
    assert len(drawn) == 3
    assert all(len(secret) == 64 for secret in drawn)


@pytest.mark.parametrize(("status", "told"), [(0, 0), (2, 2), (4, 4), (130, 130), (1, 1), (137, 4), (255, 4)])
def test_a_status_that_is_not_railgauges_is_4_with_a_word(status, told, capfd):
    ended = run_command([sys.executable, "-c", f"print('out'); raise SystemExit({status})"], os.environ)
    assert ended.status == told
    assert ended.reported
    assert capfd.readouterr().out == "out\n"
    assert (ended.message is None) == (status == told)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ssh: connect to host gpu-09 port 22: No route to host\nRemote host: gpu-09", "No route to host"),
        ("gpu-08: all is well\n  Remote daemon: 1 on node gpu-09\nbye", "status 213: Remote daemon: 1 on node gpu-09"),
        ("gpu-099 and gpu-09x failed", "see its output above"),
    ],
)
def test_the_host_that_failed_is_named_in_one_line(said, words, capfd):
    command = ["sh", "-c", 'echo "$0" >&2; exit 213', said]
    ended = run_command(command, os.environ, hosts_from("gpu-08,gpu-09"))
    assert ended.status == 4
    assert words in ended.message
    assert "\n" not in ended.message
    assert capfd.readouterr().err == said + "\n"


def test_what_a_launcher_leaves_behind_does_not_hold_up_its_end(capfd):
    left = "(trap '' TERM HUP; exec setsid sleep 600 >/dev/null) & echo $! >&2; exit 1"
    run_command(["sh", "-c", left], os.environ, hosts_from("gpu-08"))
    os.kill(int(capfd.readouterr().err), signal.SIGKILL)  # it is still there


def test_a_command_that_prints_nothing_has_reported_nothing():
    assert run_command(["true"], os.environ) == Ended(0, None, reported=False)


STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
INTERRUPTED = f"""
import sys
import os
from railgauge.collectives.launch.launch import run_command
run_command(["sh", "-c", "{sys.executable} -c \\"$0\\" & wait", {STUBBORN!r}], os.environ)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_signal_ends_the_whole_group(number, status):
    with subprocess.Popen(
        [sys.executable, "-P", "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"up\n"
        group = group_of_child(process.pid)
        process.send_signal(number)
        process.wait(HANGS_AFTER_S)
    assert process.returncode == status
    until_gone(group)


AT_THE_START = """
import os, signal, subprocess, sys
from railgauge.collectives.launch.launch import run_command
start = subprocess.Popen
def interrupted(*args, **options):
    process = start(*args, **options)
    print(process.pid, flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))
    return process
subprocess.Popen = interrupted
run_command(["sleep", "60"], os.environ)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_signal_that_comes_while_the_launcher_starts_leaves_no_child(number, status):
    command = [sys.executable, "-P", "-c", AT_THE_START, str(int(number))]
    ran = subprocess.run(command, capture_output=True, timeout=HANGS_AFTER_S, check=False)
    assert ran.returncode == status
    until_gone(int(ran.stdout))


def test_a_second_interrupt_kills_what_does_not_follow_the_first():
    with subprocess.Popen(
        [sys.executable, "-P", "-c", INTERRUPTED.replace("SIGINT", "SIGTERM")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout.readline() == b"up\n"
        group = group_of_child(process.pid)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.wait(HANGS_AFTER_S)
    until_gone(group)


def test_a_hangup_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with exit_on_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_callback_whose_errors_python_drops_still_decides_the_status():
    class Dropped:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    def body():
        with exit_on_signals():
            Dropped()
            raise UnavailableError("what the block ends with")

    with pytest.raises(SystemExit) as left:
        body()
    assert left.value.code == 143


def test_the_ranks_environment_has_no_place_of_the_launchers_own(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MASTER_ADDR", "gpu-01")
    exported = environment(asked())
    assert find_place({name: value for name, value in exported.items() if name != "SLURM_PROCID"}) is None
    assert exported["MASTER_ADDR"] == "gpu-01"


def test_an_address_that_means_another_host_on_each_is_refused_with_what_gave_it():
    hosts = ("run", "all_reduce", "--launcher", "ssh", "--hosts", "gpu-01,gpu-02")
    done = in_process(*hosts, MASTER_ADDR="localhost")
    assert (done.returncode, "MASTER_ADDR=localhost is a different host on each: unset it" in done.stderr) == (2, True)
    done = in_process(*hosts[:-1], "localhost,gpu-02", MASTER_ADDR="")
    assert "the rendezvous would be at localhost" in done.stderr


def group_of_child(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return os.getpgid(int(children.read().split()[0]))


def until_gone(group):
    """What was killed may take a while to end."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while group_lives(group):
        assert time.monotonic() < deadline, "the group outlives its launcher"
        time.sleep(0.02)


def group_lives(group):
    """Whether one of its processes runs; dead ones may wait to be reaped."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                return True
    return False
