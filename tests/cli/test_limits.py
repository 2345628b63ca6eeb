# SPDX-License-Identifier: Apache-2.0
"""What a process has no more of ends a command with 3 and the cause; --debug shows more and changes no status."""

import json
import os
import resource
import signal
import subprocess

import pytest
from tests.cli.command import clean_environment, command, railgauge
from tests.cli.test_internal_errors import broken

from railgauge.topo.errors import described, status_of


@pytest.mark.parametrize("said", ["can't start new thread", "Resource temporarily unavailable"])
def test_no_more_threads_is_something_that_is_absent(said):
    assert status_of(RuntimeError(said)) == 3
    assert "pids.max" in described(RuntimeError(said))
    assert status_of(RuntimeError("anything else")) == 70


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


@pytest.mark.parametrize("mebibytes", [60, 90])
def test_too_little_address_space_is_3_with_the_cause_or_enough(mebibytes):
    limit = mebibytes << 20
    ended = subprocess.run(
        command("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "-T", "20", "--device", "cpu"),
        env=clean_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode in (0, 3), ended.stderr
    assert ended.returncode == 0 or any(words in ended.stderr for words in ("cannot start a thread", "memory"))


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
            command(*arguments), env=env, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=100, check=False
        )
    assert ended.returncode in (128 + signal.SIGPIPE, -signal.SIGPIPE), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
