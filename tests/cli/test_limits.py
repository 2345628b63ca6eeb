# SPDX-License-Identifier: Apache-2.0
"""What a process has no more of ends a command with 3 and the cause; --debug shows more and changes no status."""

import errno
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import clean_environment, command, railgauge
from tests.cli.test_internal_errors import broken
from tests.patience import HANGS_AFTER_S

from railgauge.cli import main
from railgauge.topo.errors import described, status_of

RUN = ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "-T", "60", "--device", "cpu")
SHOW = ("topo", "show", "--from", "@dgx-h100")
CHECK = ("check", "--from", "@dgx-h100")
CAUSES = ("cannot start a thread or process", "memory")


def limited(limit, *arguments):
    """What a command does whose process begins with a call of `limit`."""
    return subprocess.run(
        command(*arguments),
        env=clean_environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        RuntimeError("Resource temporarily unavailable"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
    ],
)
def test_no_more_threads_or_processes_is_something_that_is_absent(error):
    assert status_of(error) == 3
    assert "pids.max" in described(error)
    assert status_of(RuntimeError("anything else")) == 70


@pytest.fixture
def pids(tmp_path):
    """A control group of its own, below the one of pids of either version."""
    top = next((top for top in map(Path, ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")) if os.access(top, os.W_OK)), None)
    if top is None:
        pytest.skip("no control group may be made here")
    group = top / f"railgauge-{os.getpid()}"
    group.mkdir()
    try:
        if not (group / "pids.max").exists():
            pytest.skip("control groups here do not count processes")
        yield group
    finally:
        group.rmdir()


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("arguments", [RUN, ("link", *RUN[2:4], "-T", "60", "--device", "cpu")], ids=["run", "link"])
def test_a_control_group_that_is_full_is_3_with_the_cause(pids, arguments, most):
    (pids / "pids.max").write_text(str(most))
    ended = limited(lambda: (pids / "cgroup.procs").write_text(str(os.getpid())), *arguments)
    assert ended.returncode == 3, ended.stderr
    assert "pids.max of the cgroup" in ended.stderr


@pytest.mark.parametrize("what", ["run", "link"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_without_threads_ends_the_command_with_3(tmp_path, what, rank):
    result = broken(tmp_path, what, 'RuntimeError("can\'t start new thread")', rank=rank)
    assert result.returncode == 3, result.stderr
    assert "cannot start a thread" in result.stderr


@pytest.mark.parametrize("what", ["hub", "hub's start", "bootstrap"])
@pytest.mark.parametrize("error", ["MemoryError()", 'RuntimeError("can\'t start new thread")'])
def test_a_thread_of_the_meeting_that_cannot_go_on_ends_the_command_with_3(tmp_path, what, error):
    result = broken(tmp_path, what, error, "--json", "-T", "20")
    assert result.returncode == 3, result.stderr
    cause = "out of memory" if "Memory" in error else "cannot start a thread"
    assert cause in result.stderr
    assert cause in json.loads(result.stdout)["error"]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "mebibytes"),
    [*((RUN, size) for size in (25, 50, 66, 80, 100, 140)), (SHOW, 34), (CHECK, 66)],
)
def test_too_little_address_space_is_3_with_the_cause_or_enough(arguments, mebibytes):
    """A library, a thread's stack, a codec or a module that finds no room: each fails with another error. A rank whose
    thread Python itself loses that way is lost to the others (4), with the cause.
    """
    limit = mebibytes << 20
    ended = limited(lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), *arguments)
    lost = ended.returncode == 4 and "was killed because it did not end by itself" in ended.stderr
    assert ended.returncode in (0, 3) or lost, ended.stderr
    assert ended.returncode == 0 or any(words in ended.stderr for words in CAUSES)
    assert lost or "Traceback" not in ended.stderr


def test_an_error_is_blamed_on_a_limit_only_where_little_is_left(monkeypatch):
    for limit, status in ((1 << 60, 70), (64 << 20, 3)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert status_of(LookupError("unknown encoding: idna")) == status


def test_what_cannot_even_be_explained_is_3(monkeypatch, capfd):
    def nothing_fits(_):
        raise MemoryError

    monkeypatch.setattr(main, "dispatch", nothing_fits)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 3
    assert "out of memory" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("topo", "show", "--from", "/nonexistent"), 5),
        (("topo", "show", "--no-such-option"), 2),
        (("explain", "no-such-finding"), 2),
        (("run", "all_reduce", "--ranks", "0"), 2),
        (("topo", "dump", "--from", "@dgx-h100", "-o", "/nonexistent/x"), 3),
    ],
)
def test_debug_changes_no_status(arguments, status):
    plain, debug = railgauge(*arguments), railgauge(*arguments, "--debug")
    assert plain.returncode == debug.returncode == status
    assert "Traceback" in debug.stderr
    assert plain.stderr.splitlines()[-1] == debug.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("check", "--from", "@dgx-h100"),
        ("check", "--from", "@dgx-h100", "--json"),
        ("run", "--help"),
        ("run", "--list"),
        ("run", "all_reduce", "--ranks", "2", "--dry-run"),
        ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "--device", "cpu"),
        ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "--device", "cpu", "--json"),
        ("run", "all_reduce", "-b", "8", "-e", "8", "-n", "1", "--device", "cpu", "--json"),
        ("link", "--ranks", "2", "-b", "4K", "-n", "1", "--json"),
        ("cluster", "dump", "-w", "a,b"),
        ("cluster", "check", "-w", "a,b", "--json"),
        ("cluster", "link", "-w", "a,b", "--dry-run"),
    ],
)
def test_a_reader_that_has_gone_ends_every_command_as_a_filter_ends(arguments):
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "wb") as pipe:
        env = clean_environment(RAILGAUGE_SSH="false")
        ended = subprocess.run(
            command(*arguments),
            env=env,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANGS_AFTER_S,
            check=False,
        )
    assert ended.returncode in (128 + signal.SIGPIPE, -signal.SIGPIPE), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
