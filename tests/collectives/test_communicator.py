# SPDX-License-Identifier: Apache-2.0
"""What happens when ranks do not do the same: deadlines, blame, stalls."""

import contextlib
import gc
import os
import threading
import time
import warnings

import numpy as np
import pytest
from tests.collectives.wiring import ends_of, everybody, nets, over_each_transport, over_rings
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import on_ranks

from railgauge._native import transports as native
from railgauge.collectives.communicator import Communicator
from railgauge.topo.errors import PeerLostError, RunError, UnavailableError, UsageError
from railgauge.transports.fault import Fault

TWO_RINGS = [[0, 1], [0, 1]]


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


@over_each_transport
def test_a_rank_that_never_calls_is_named_by_all(transport):
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1, 2]], transport)
        if bootstrap.rank == 1:
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S).rank
        with pytest.raises(RunError, match="rank 1 did not take part") as caught:
            comm.all_reduce(np.ones(8, np.float32))
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=5.0) == [1, 1, 1]


@over_each_transport
def test_different_counts_are_an_error_not_wrong_data(transport):
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], transport)
        with pytest.raises(
            RunError,
            match=r"rank 0 called all_reduce of 32 float, sum; rank 1 called all_reduce of 64 .* counts differ",
        ):
            comm.all_reduce(np.ones(64 if bootstrap.rank else 32, np.float32))
        return True

    assert on_ranks(2, body) == [True, True]


@over_each_transport
def test_a_stalled_channel_does_not_hold_the_other(transport):
    fault = Fault(kind="stall", rank=0, channel=0, message=0, seconds=2.0)
    count = 1 << 20
    seen = []

    def body(bootstrap):
        comm = over_rings(bootstrap, TWO_RINGS, transport, fault=fault)
        comm.arm_fault()
        stalled, other = [ends_of(comm, channel)[1] for channel in (0, 1)]
        if bootstrap.rank == 1:
            watch(lambda: other.bytes == count * 4 // 2, lambda: seen.append(stalled.bytes))
        return bool((comm.all_reduce(np.ones(count, np.float32)) == 2).all())

    assert on_ranks(2, body) == [True, True]
    assert seen == [0]  # all of channel 1's share is there, and nothing of channel 0's


def watch(happened, then):
    """Call `then` when it has happened, or will not any more, while the test goes on."""

    def look():
        end = time.monotonic() + HANGS_AFTER_S
        while not happened() and time.monotonic() < end:
            time.sleep(0.001)
        then()

    threading.Thread(target=look).start()


@over_each_transport
def test_connections_say_what_moved(transport):
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], transport)
        comm.all_reduce(np.ones(1000, np.float32))
        out, back = ends_of(comm, 0)
        return out.via, out.peer, out.bytes, back.bytes

    first, second = on_ranks(2, body)
    via = {"SHM": "SHM", "NET/Socket": "NET/Socket/0"}[transport]
    assert first[:2] == (via, 1)
    assert second[:2] == (via, 0)
    assert first[2] == second[3] > 0
    assert first[3] == second[2] > 0


@over_each_transport
def test_a_flipped_bit_is_in_the_result(transport):
    fault = Fault(kind="flip", rank=0, channel=0, message=0)

    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], transport, fault=fault)
        comm.arm_fault()
        return int((comm.all_reduce(np.ones(100, np.float32)) != 2).sum())

    assert max(on_ranks(2, body)) == 1


def test_a_connection_that_ends_names_the_rank_behind_it():
    rings = [[0, 1, 2]]

    def body(bootstrap):
        comm = over_rings(bootstrap, rings, "NET/Socket")
        if bootstrap.rank == 1:
            comm._connections._connector.proxy.abort()  # as a killed process leaves it: closed, nobody at work
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S).rank
        with pytest.raises(PeerLostError, match=r"rank 1 .*(closed the connection|connection broke)") as caught:
            comm.all_reduce(np.ones(8, np.float32))
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=FAR_S) == [1, 1, 1]


def test_a_rank_that_stops_waiting_lets_go_of_its_peers():
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], "NET/Socket")
        if bootstrap.rank == 1:
            bootstrap.abort()
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S).rank
        with pytest.raises(PeerLostError, match=r"rank 1 .*(closed the connection|connection broke)") as caught:
            comm.all_reduce(np.ones(8, np.float32))
        return caught.value.rank

    assert on_ranks(2, body) == [1, 1]


def sockets():
    """Those that this process has open, by their inodes."""
    names = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it is closed by now
            names.add(os.readlink(f"/proc/self/fd/{number}"))
    return {name for name in names if name.startswith("socket:")}


def test_a_communicator_that_is_closed_has_no_connection_open():
    def body(bootstrap):
        def now():
            bootstrap.barrier()
            found = sockets()
            bootstrap.barrier()
            return found

        before = now()
        comm = over_rings(bootstrap, [[0, 1]], "NET/Socket")
        connected = now() - before
        comm.close()
        return len(connected), len(connected & now())

    for connected, left in on_ranks(2, body):
        assert connected > 0 == left


def test_an_interface_of_the_plan_that_is_not_here_is_named_with_those_that_are():
    def body(bootstrap):
        with pytest.raises(UnavailableError, match=r"the plan names NET/Socket/9, but this process can use only lo:"):
            Communicator(bootstrap, everybody(bootstrap), [[0, 1]], [[[9, 9], [9, 9]]])
        return True

    assert on_ranks(2, body) == [True, True]


@over_each_transport
def test_without_an_rdma_device_nothing_is_registered(transport):
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], transport)
        is_mapped = comm.register(np.zeros(8)).is_mapped
        comm.close()
        return is_mapped

    assert on_ranks(2, body) == [False, False]


def test_once_it_is_connected_a_rank_listens_no_more():
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], "NET/Socket")
        gc.collect()
        comm.close()
        return True

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        assert on_ranks(2, body) == [True, True]
    assert [str(one.message) for one in caught if "socket" in str(one.message)] == []


def test_ranks_that_were_given_other_plans_are_told_so():
    def body(bootstrap):
        plan = nets("NET/Socket" if bootstrap.rank else "SHM", [[0, 1]])
        with pytest.raises(UsageError, match="do the plans differ") as caught:
            Communicator(bootstrap, everybody(bootstrap), [[0, 1]], plan)
        return str(caught.value)

    over_memory, over_sockets = on_ranks(2, body)
    assert over_memory.startswith("rank 1 offers no shared memory on channel 0")
    assert over_sockets.startswith("rank 0 offers no address on channel 0")


@pytest.mark.parametrize(
    ("descriptor", "error"), [("", UsageError), ("nonsense", UsageError), ("999999999:3:64:1", PeerLostError)]
)
def test_memory_that_cannot_be_opened_is_an_error(descriptor, error):
    with pytest.raises(error, match=r"segment|memory"):
        native.Doorbell.open(descriptor)


@over_each_transport
def test_one_that_closes_at_once_has_sent_all_and_takes_no_more(transport):
    rings = [[0, 1, 2]]

    def body(bootstrap):
        comm = over_rings(bootstrap, rings, transport)
        result = comm.all_reduce(np.ones(1 << 20, np.float32))
        comm.close()
        comm.close()
        with pytest.raises(UsageError, match="closed"):
            comm.all_reduce(result)
        bootstrap.barrier()
        return bool((result == 3).all())

    assert on_ranks(3, body) == [True] * 3


def test_one_that_failed_does_nothing_more(monkeypatch):
    """Also before the others have heard of it."""

    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        monkeypatch.setattr(bootstrap, "fail", lambda *_, **__: None)
        with pytest.raises(RunError, match="this rank in") as first:
            comm.all_reduce(np.ones(4 + bootstrap.rank))
        with pytest.raises(RunError) as again:
            comm.all_reduce(np.ones(4))
        return again.value is first.value

    assert on_ranks(2, body) == [True, True]
