# SPDX-License-Identifier: Apache-2.0
"""Two jobs started by hand at one place, without a secret: their ranks do not mix, and none of them hangs."""

import re
import socket
import subprocess

import pytest
from tests.cli.command import clean_environment, command
from tests.collectives.by_hand import free_port
from tests.patience import HANGS_AFTER_S

ENDLESS = ("-b", "8", "-e", "8", "-n", "1", "-N", "0", "-T", "60", "--device", "cpu")
TWICE = r"two processes came as rank {}: pid \d+ on \S+ \([\d.]+:\d+\) and pid \d+ on \S+ \([\d.]+:\d+\): "


def start(rank, port, **env):
    place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return subprocess.Popen(
        command("run", "all_reduce", *ENDLESS),
        env=clean_environment(**place | env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("late", [0, 1])
def test_ranks_of_two_jobs_that_met_all_end_once_another_of_them_comes(late):
    port = free_port()
    ranks = [start(0, port), start(1, port)]  # of two jobs, as nobody can tell
    for line in ranks[0].stdout:
        if re.match(r"\s+8\s", line):
            break
    ranks.append(start(late, port))
    for rank in ranks:
        _, said = rank.communicate(timeout=HANGS_AFTER_S)
        assert rank.returncode == 4, said
        assert re.search(TWICE.format(late), said), said


def test_with_a_secret_the_one_that_comes_late_alone_is_refused():
    port, secret = free_port(), {"RAILGAUGE_SECRET": "f" * 32}
    ranks = [start(0, port, **secret), start(1, port, **secret)]
    for line in ranks[0].stdout:
        if re.match(r"\s+8\s", line):
            break
    late = start(1, port, **secret)
    _, said = late.communicate(timeout=HANGS_AFTER_S)
    assert late.returncode == 2
    assert "cannot join: two processes came as rank 1" in said
    assert [rank.poll() for rank in ranks] == [None, None]
    for rank in ranks:
        rank.terminate()
        rank.communicate(timeout=HANGS_AFTER_S)


def test_a_port_that_another_program_holds_is_in_use():
    with socket.create_server(("127.0.0.1", 0)) as other:
        rank = start(0, other.getsockname()[1])
        _, said = rank.communicate(timeout=HANGS_AFTER_S)
    assert rank.returncode == 2
    assert "is in use" in said
