# SPDX-License-Identifier: Apache-2.0
"""Runs that have to fail: demands not met, injected faults, lost ranks, interrupts. Status, words, nothing left."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.command import SMALL, clean_environment, command, document, railgauge, refused, run, started
from tests.hosts.waiting import until_at_work
from tests.patience import HANGS_AFTER_S


def test_a_flipped_bit_ends_in_status_4_with_rank_index_expected_and_got():
    result = run("--ranks", "3", "-b", "64", "-e", "64", "-n", "1", "-w", "0", "--fault", "flip:rank=1")
    assert result.returncode == 4
    assert re.search(r"rank \d: \d+ of 16 elements wrong .* index \d+: expected -?[\d.]+, got \S+", result.stderr)
    assert "FAILED" in result.stdout


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (0, r"\(float sum root 0, out of place\): index 15: expected -?\d+, got"),
        (1, r"random data: index 15: expected \S+ within [\d.]+ ULP, got"),
    ],
)
def test_a_flipped_bit_shows_in_integers_and_in_random_floats(message, words):
    """A reduction to rank 0 takes one message of rank 1, and of each size both kinds of data are verified."""
    result = railgauge(
        "run", "reduce", "--ranks", "2", "-b", "64", "-e", "64", "-n", "1", "--fault", f"flip:rank=1,message={message}"
    )
    assert result.returncode == 4
    assert re.search(words, result.stderr)


def test_a_flipped_bit_that_one_rank_alone_sees_does_not_part_the_ranks():
    """The others go on with the next verified operation."""
    result = run("--ranks", "3", "-b", "64", "-e", "64", "-n", "1", "-c", "3", "--fault", "flip:rank=1,message=1")
    assert result.returncode == 4
    assert "elements wrong" in result.stderr


def test_a_flipped_bit_shows_in_the_document():
    got = document("--ranks", "2", "-b", "64", "-e", "64", "-n", "1", "-w", "0", "--fault", "flip", status=4)
    assert got["status"] == "failed"
    assert "expected" in got["error"]
    assert sum(got["rows"][0][way]["wrong"] for way in ("out_of_place", "in_place")) > 0


def test_a_bandwidth_not_reached_is_status_4():
    got = document("--ranks", "2", *SMALL, "--min-busbw", "1e6", status=4)
    assert "below the required 1e+06 GB/s" in got["error"]
    assert run("--ranks", "2", *SMALL, NCCL_TESTS_MIN_BW="1e6").returncode == 4
    assert run("--ranks", "2", *SMALL, "--min-busbw", "0").returncode == 0


@pytest.mark.parametrize("least", ["nan", "-5", "inf"])
def test_a_bandwidth_that_is_none_is_refused(least):
    assert refused("--ranks", "2", *SMALL, "--min-busbw", least).returncode == 2
    assert refused("--ranks", "2", *SMALL, NCCL_TESTS_MIN_BW=least).returncode == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-w", "99999999999999"), "100000000"),
        (("-m", "999999999999"), "100000000"),
        (("-n", "100000", "-m", "100000"), "more than 100000000 operations"),
        (("--tolerance", "5"), "--tolerance requires --compare"),
        (("--record", ""), "--record needs a file name"),
    ],
)
def test_flags_that_make_no_sense_are_refused(flags, words):
    result = refused("--ranks", "2", *flags)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_record_that_cannot_be_written_is_told_before_the_run():
    result = refused("--ranks", "2", *SMALL, "--record", "/nowhere/record.json")
    assert (result.returncode, result.stdout) == (3, "")
    assert "there is no folder /nowhere" in result.stderr


def test_a_record_that_cannot_be_written_hides_no_failure(tmp_path):
    (tmp_path / "record").mkdir()
    record = ("--record", str(tmp_path / "record"))
    flipped = run("--ranks", "2", "-b", "64", "-e", "64", "-n", "1", "--fault", "flip", *record)
    assert flipped.returncode == 4
    assert "cannot write" in flipped.stderr
    assert run("--ranks", "2", *SMALL, *record).returncode == 3


def by_hand(tmp_path, *flags_of_ranks):
    """A process for each rank, started as a user without a launcher would; their statuses and what they said."""
    place = ("--world-size", str(len(flags_of_ranks)), "--init-method", f"file://{tmp_path}/store")
    ranks = [
        subprocess.Popen(
            command("run", "all_reduce", *SMALL, *place, "--rank", str(rank), *flags),
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, flags in enumerate(flags_of_ranks)
    ]
    said = [rank.communicate(timeout=HANGS_AFTER_S)[1] for rank in ranks]
    return [rank.returncode for rank in ranks], said


def test_rank_0_alone_may_ask_for_a_record(tmp_path):
    path = tmp_path / "record.json"
    statuses, said = by_hand(tmp_path, ("--record", str(path)), ())
    assert statuses == [0, 0], said
    assert [one["rank"] for one in json.loads(path.read_text())["standings"]] == [0, 1]


def test_a_record_that_another_rank_asks_for_is_none(tmp_path):
    statuses, said = by_hand(tmp_path, (), ("--record", str(tmp_path / "record.json")))
    assert statuses == [0, 0], said
    assert not (tmp_path / "record.json").exists()


def test_a_fault_that_one_rank_alone_is_asked_for_is_named(tmp_path):
    statuses, said = by_hand(tmp_path, ("--fault", "flip"), ())
    assert statuses == [4, 4], said
    assert "--fault differs" in said[0]


def test_a_transport_not_used_is_status_4():
    assert (
        "went via SHM, expected NET" in document("--ranks", "2", *SMALL, "--expect-transport", "NET", status=4)["error"]
    )
    assert run("--ranks", "2", *SMALL, "--expect-transport", "SHM").returncode == 0
    assert run("--ranks", "1", *SMALL, "--expect-transport", "SHM").returncode == 4


def test_what_the_ranks_show_on_boards_is_listed_and_idle_rings_are_not_judged():
    got = document("--ranks", "2", "-b", "8", "-e", "1K", "-f", "8", "-n", "1", "--expect-transport", "SHM")
    assert [(board["rank"], board["via"]) for board in got["boards"]] == [(0, "SHM"), (1, "SHM")]
    assert all(board["bytes_shown"] > 0 for board in got["boards"])
    assert not any(connection["bytes_sent"] for connection in got["connections"])


def test_a_stalled_rank_is_named_within_the_timeout():
    result = run("--ranks", "3", *SMALL, "--timeout", "12", "--fault", "stall:rank=1,message=1")
    assert result.returncode == 4
    assert "rank 1 did not take part" in result.stderr
    assert re.search(r"rank 1, which waits in all_reduce #\d+ for a free slot of rank 2", result.stderr)


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("flip:rank=7", 2, "the run has 2 ranks"),
        ("flip:channel=9", 2, "the run has 2 ranks"),
        ("flip:message=100000", 4, "did not occur"),
    ],
)
def test_a_fault_that_cannot_come_is_not_a_success(fault, status, words):
    result = run("--ranks", "2", *SMALL, "--fault", fault)
    assert result.returncode == status
    assert words in result.stderr
    assert result.stderr.count(words) == 1


def test_cpu_time_is_shown_but_bandwidth_is_by_the_clock():
    way = document("--ranks", "3", "-b", "1M", "-e", "1M", "-C", "1")["rows"][0]["out_of_place"]
    by_cpu_time = 1048576 / way["time_us"] / 1e3
    assert way["algbw_gb_per_s"] != pytest.approx(by_cpu_time, rel=1e-4)  # two clocks never agree so well
    assert "cputime" in run("--ranks", "2", *SMALL, "-C", "1").stdout


@pytest.mark.parametrize(
    ("closed", "ranks"), [("<&-", ()), ("2>&-", ()), ("2>&-", ("--ranks", "2")), ("<&- 2>&-", ("--ranks", "2"))]
)
def test_a_closed_stdin_or_stderr_changes_nothing(closed, ranks):
    result = in_a_shell(*SMALL, "--json", *ranks, then=closed)
    assert (result.returncode, json.loads(result.stdout)["status"]) == (0, "ok"), result.stderr


@pytest.mark.parametrize("way", [(), ("--json",), ("--ranks", "2"), ("--ranks", "2", "--json")])
def test_a_full_disk_is_told_once_with_status_3(way):
    result = in_a_shell(*SMALL, *way, then=">/dev/full")
    assert result.returncode == 3
    assert result.stderr.count("railgauge run: cannot write to stdout: No space left on device\n") == 1
    assert "Errno" not in result.stderr


def in_a_shell(*args, then):
    """A run with what a shell adds to it."""
    line = f"{shlex.join(command('run', 'all_reduce', *args))} {then}"
    env = clean_environment()
    return subprocess.run(
        ["sh", "-c", line], env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )


def test_a_lost_reader_ends_the_run():
    with started("run", "all_reduce", "-b", "8", "-e", "1K", "-i", "8", "-N", "100", "--ranks", "2") as launcher:
        launcher.stdout.readline()
        launcher.stdout.close()
        assert launcher.wait(HANGS_AFTER_S) == 141
        assert "Traceback" not in launcher.stderr.read()


@pytest.mark.parametrize(
    ("victim", "number", "words"),
    [
        (1, signal.SIGKILL, "rank 1 on {host} is gone"),
        (0, signal.SIGKILL, "rank 0 is gone"),
        (2, signal.SIGSTOP, "rank 2 on {host} stopped answering"),
        (0, signal.SIGSTOP, "rank 0 stopped answering"),
    ],
)
def test_a_lost_rank_is_named_and_nothing_is_left(victim, number, words):
    with long_run("--timeout", "12") as (launcher, ranks):
        assert holders_of_shared_memory() >= set(ranks)
        os.kill(ranks[victim], number)
        out, err = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert words.format(host=socket.gethostname()) in err
        if "{host} stopped" in words:
            assert re.search(rf"waits? in all_reduce #\d+ for rank {victim}, which does not answer", err)
        assert not any(alive(pid) for pid in ranks)
        assert not holders_of_shared_memory() & {launcher.pid, *ranks}
        got = json.loads(out)
        assert got["status"] == "failed"
        assert got["rows"] == got["connections"] == []


def test_a_rank_that_was_stopped_for_a_second_goes_on():
    with long_run("-n", "300", "--timeout", "60") as (launcher, ranks):
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(ranks[1], number)
            time.sleep(1)
        out, err = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 0, err
        row = json.loads(out)["rows"][0]
        assert [row[way]["wrong"] for way in ("out_of_place", "in_place")] == [0, 0]


def holders_of_shared_memory(name="/memfd:railgauge"):
    """The processes that have a segment of ours open: it has no name in a folder, and lives as long as they do."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry).startswith(name):
                found.add(int(entry.parts[2]))
    return found


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_rank_outlives_its_launcher(number, status):
    with long_run() as (launcher, ranks):
        launcher.send_signal(number)
        launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == status
        deadline = time.monotonic() + HANGS_AFTER_S
        while any(alive(pid) for pid in ranks) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(alive(pid) for pid in ranks)


def test_interrupted_is_130():
    with long_run() as (launcher, ranks):
        os.killpg(launcher.pid, signal.SIGINT)
        _, err = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 130
        assert "Traceback" not in err
        assert not any(alive(pid) for pid in ranks)


SLOW_START = """
import os, pathlib, time
def started():
    pathlib.Path(os.environ["STARTED"], str(os.getpid())).touch()
    time.sleep(1)
os.register_at_fork(after_in_child=started)
"""


def test_an_interrupt_while_ranks_start_is_130_without_a_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SLOW_START)
    folder = tmp_path / "started"
    folder.mkdir()
    env = {"PYTHONPATH": str(tmp_path), "STARTED": str(folder)}
    with started("run", "all_reduce", *SMALL, "--ranks", "2", **env) as launcher:
        while len(ranks := os.listdir(folder)) < 2:
            time.sleep(0.01)
        for pid in ranks:
            os.kill(int(pid), signal.SIGINT)
        _, err = launcher.communicate(timeout=HANGS_AFTER_S)
    assert launcher.returncode == 130
    assert "Traceback" not in err
    assert "KeyboardInterrupt" not in err


@contextlib.contextmanager
def long_run(*args):
    """A run of 3 ranks that would last minutes, and their processes; all of them have joined."""
    endless = ("run", "all_reduce", "-b", "8M", "-e", "8M", "-n", "100000", "--ranks", "3", "--json")
    with started(*endless, *args, NCCL_DEBUG="INFO", NCCL_DEBUG_FILE="/dev/stderr") as launcher:
        ranks = {}
        while len(ranks) < 3:
            line = launcher.stderr.readline()
            assert line, "the run ended early"
            if found := re.search(r":(\d+):\d+ \[(\d)\] NCCL INFO Connected all rings", line):
                ranks[int(found.group(2))] = int(found.group(1))
        until_at_work(ranks.values())
        yield launcher, [ranks[rank] for rank in range(3)]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False
