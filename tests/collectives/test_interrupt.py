# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and other signals in an operation: heard at once, and told to the ranks that wait for this one."""

import signal
import subprocess

import pytest
from tests.collectives.by_hand import free_port, start
from tests.patience import FAR_S, HANGS_AFTER_S

ONE_OPERATION = "comm.all_reduce(data)"
GROUPED = """
    with comm.group():
        comm.all_reduce(data)
        comm.all_reduce(data)
"""
MANY = "[comm.all_reduce(data) for _ in range(1 << 40)]"
PROGRAM = f"""
import sys, time
from datetime import timedelta
import numpy as np
import railgauge
url, rank, size = sys.argv[1:]
with railgauge.init_process_group(url, int(rank), int(size), timedelta(seconds={FAR_S})) as group:
    comm, data = group.communicator, np.zeros(1 << 20, np.float32)
    group.barrier()
    print("in", flush=True)
    PART
"""


def started(*parts):
    """A rank for each of these parts of a program, all in them or about to be."""
    url = f"tcp://127.0.0.1:{free_port()}"
    ranks = [start(url, rank, len(parts), PROGRAM.replace("PART", part)) for rank, part in enumerate(parts)]
    assert [rank.stdout.readline() for rank in ranks] == ["in\n"] * len(parts)
    return ranks


def errors_of(ranks):
    """Long before the timeout, which pytest would not wait for."""
    return [rank.communicate(timeout=HANGS_AFTER_S)[1] for rank in ranks]


@pytest.mark.parametrize("part", [ONE_OPERATION, GROUPED], ids=["one", "grouped"])
def test_ctrl_c_in_an_operation_is_heard_at_once_and_told_to_all(part):
    ranks = started("time.sleep(1000)", part, part)
    with pytest.raises(subprocess.TimeoutExpired):
        ranks[1].wait(1)
    ranks[1].send_signal(signal.SIGINT)
    errors = errors_of(ranks[1:2])
    assert errors[0].rstrip().endswith("KeyboardInterrupt")
    assert ranks[1].returncode == -signal.SIGINT
    assert "rank 1 was interrupted by KeyboardInterrupt" in errors_of(ranks[2:])[0]
    ranks[0].kill()
    ranks[0].communicate()


def test_ctrl_c_among_many_operations_ends_all():
    ranks = started(MANY, MANY)
    ranks[0].send_signal(signal.SIGINT)
    errors = errors_of(ranks)
    assert errors[0].rstrip().endswith("KeyboardInterrupt")
    assert "rank 0" in errors[1]
    assert "interrupted" in errors[1]
