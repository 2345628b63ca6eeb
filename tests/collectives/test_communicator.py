# SPDX-License-Identifier: Apache-2.0
"""What happens when ranks do not do the same: deadlines, blame, stalls."""

import time

import numpy as np
import pytest
from tests.transports.ranks import on_ranks

from railgauge._native import transports as native
from railgauge.collectives.communicator import Communicator
from railgauge.topo.errors import RunError, UnavailableError
from railgauge.transports.fault import Fault

TWO_RINGS = [[0, 1], [0, 1]]


def test_a_rank_that_never_calls_is_named_by_all():
    def body(bootstrap):
        comm = Communicator(bootstrap, [[0, 1, 2]])
        if bootstrap.rank == 1:
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=10).rank
        with pytest.raises(RunError, match="rank 1 did not take part") as caught:
            comm.all_reduce(np.ones(8, np.float32))
        return caught.value.rank

    started = time.monotonic()
    assert on_ranks(3, body, timeout_s=2.0) == [1, 1, 1]
    assert time.monotonic() - started < 8


def test_different_counts_are_an_error_not_wrong_data():
    def body(bootstrap):
        comm = Communicator(bootstrap, [[0, 1]])
        with pytest.raises(RunError, match=r"different counts|nothing moved|rank 0 sent|rank 1 sent"):
            comm.all_reduce(np.ones(64 if bootstrap.rank else 32, np.float32))
        return True

    assert on_ranks(2, body, timeout_s=2.0) == [True, True]


def test_a_stalled_channel_does_not_hold_the_other():
    fault = Fault(kind="stall", rank=0, channel=0, message=0, seconds=1.0)
    count = 1 << 20
    seen = {}

    def body(bootstrap):
        comm = Communicator(bootstrap, TWO_RINGS, fault)
        comm.arm_fault()
        if bootstrap.rank == 1:
            watched = [ends.previous for ends in comm.rings]
            watch_later(watched, seen)
        result = comm.all_reduce(np.ones(count, np.float32))
        return bool((result == 2).all())

    assert on_ranks(2, body) == [True, True]
    assert seen["bytes"] == [0, count * 4 // 2]  # half a second in: nothing on channel 0, all of channel 1's share


def watch_later(receivers, seen):
    import threading

    def look():
        time.sleep(0.5)
        seen["bytes"] = [receiver.bytes for receiver in receivers]

    threading.Thread(target=look).start()


def test_connections_say_what_moved():
    def body(bootstrap):
        comm = Communicator(bootstrap, [[0, 1]])
        comm.all_reduce(np.ones(1000, np.float32))
        ends = comm.rings[0]
        return ends.next.via, ends.next.peer, ends.next.bytes, ends.previous.bytes

    first, second = on_ranks(2, body)
    assert first[:2] == ("SHM", 1)
    assert second[:2] == ("SHM", 0)
    assert first[2] == second[3] > 0
    assert first[3] == second[2] > 0


@pytest.mark.parametrize("descriptor", ["", "nonsense", "999999999:3:64:1"])
def test_memory_that_cannot_be_opened_is_an_error(descriptor):
    with pytest.raises(Exception, match=r"segment|memory") as caught:
        native.Doorbell.open(descriptor)
    assert caught.value.exit_status in (2, UnavailableError.exit_status)
