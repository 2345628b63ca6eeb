# SPDX-License-Identifier: Apache-2.0
"""`railgauge run` started by hand, a command for each rank."""

import socket
import subprocess

import pytest
from tests.cli.command import SMALL, clean_environment, command
from tests.patience import HANGS_AFTER_S


def run_two(*flags):
    """The exit status and stderr of both ranks, whose timeout is far off."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    ranks = [
        subprocess.Popen(
            command("run", "all_reduce", *SMALL, "-T", "600", *own),
            env=clean_environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, own in enumerate(flags)
    ]
    errors = [rank.communicate(timeout=HANGS_AFTER_S)[1] for rank in ranks]
    return [rank.returncode for rank in ranks], errors


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (("-o", "sum"), ("-o", "max"), "-o differs: rank 0 on {host} has 'sum', rank 1 on {host} has 'max'"),
        (("-d", "float"), ("-d", "half"), "-d differs: rank 0 on {host} has 'float', rank 1 on {host} has 'half'"),
        (("-n", "1"), ("-n", "50"), "-n differs: rank 0 on {host} has '1', rank 1 on {host} has '50'"),
        (("-r", "0"), ("-r", "1"), "-r differs: rank 0 on {host} has '0', rank 1 on {host} has '1'"),
        (("-e", "1K"), ("-e", "2K"), "-e differs: rank 0 on {host} has '1024', rank 1 on {host} has '2048'"),
    ],
)
def test_a_flag_that_differs_between_ranks_is_named_at_once(one, other, words):
    statuses, errors = run_two(one, other)
    assert statuses == [4, 4]
    assert words.format(host=socket.gethostname()) in errors[0]
    assert "rank 1: rank 1" not in errors[1]


def test_flags_of_who_reports_may_differ():
    assert run_two(("-C", "1"), ("-a", "0"))[0] == [0, 0]
