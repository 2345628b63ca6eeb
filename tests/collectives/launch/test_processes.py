# SPDX-License-Identifier: Apache-2.0
"""What the ends of a host's rank processes say about the job."""

import multiprocessing
import os

import pytest

from railgauge.collectives.launch.processes import grace_s, kill, wait


@pytest.fixture
def started():
    """Ranks of the given shell commands; none outlives the test."""
    ranks = {}

    def start(*commands, first=0):
        for rank, command in enumerate(commands, first):
            words = ["sh", "-c", f"exec {command}"]
            ranks[rank] = multiprocessing.get_context("fork").Process(target=os.execvp, args=("sh", words))
            ranks[rank].start()
        return ranks

    yield start
    kill(ranks)


def test_all_good_is_good(started):
    assert wait(started("true", "true"), 5) == (0, None)


def test_a_rank_that_ended_otherwise_than_told_is_the_cause(started):
    assert wait(started("sh -c 'exit 4'", "sh -c 'exit 3'", "sh -c 'exit 4'"), 5) == (3, None)
    assert wait(started("sh -c 'exit 4'", "true"), 5) == (4, None)


def test_a_killed_rank_is_named_by_its_number_in_the_job(started):
    ranks = started("sh -c 'kill -9 $$'", "sh -c 'exit 4'", first=6)
    assert wait(ranks, 5) == (4, "rank 6 was killed by signal 9 (SIGKILL)")


def test_a_rank_that_the_c_library_ends_for_want_of_memory_lacks_memory(started):
    ranks = started("sh -c 'exit 4'", "sh -c 'exit 127'")
    assert wait(ranks, 5) == (3, "rank 1 had no memory for the data of a thread: check ulimit -v")


def test_ranks_that_do_not_end_after_another_failed_are_killed(started):
    ranks = started("sh -c 'exit 4'", "sleep 100")
    assert wait(ranks, 0.1) == (4, "rank 1 was killed because it did not end by itself")
    assert ranks[1].exitcode == -9


def test_late_ranks_are_not_blamed_for_another_ones_cause(started):
    assert wait(started("sh -c 'exit 2'", "sleep 100"), 0.1) == (2, None)


def test_an_interrupt_is_one_for_all(started):
    assert wait(started("sh -c 'kill -2 $$'", "sh -c 'exit 4'"), 5) == (130, None)


def test_what_the_pause_raises_ends_the_wait(started):
    def pause(_seconds):
        raise SystemExit(4)

    with pytest.raises(SystemExit):
        wait(started("sleep 100"), 5, pause)


def test_the_grace_is_a_share_of_the_timeout_within_limits():
    assert [grace_s(timeout) for timeout in (1, 30, 3600)] == [1.0, 3.0, 5.0]
