# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not do the same, over shared segments, rings and hosts: reported to all in time, never wrong data.

A mismatch ends a run as soon as two ranks meet it, so that the others may not have called yet. Where ranks call other
collectives, none may send to one that would see it: then the timeout tells.
"""

import numpy as np
import pytest
from tests.collectives.hosts import over_hosts
from tests.collectives.wiring import everybody, over_rings
from tests.patience import FAR_S
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Redop
from railgauge.topo.errors import MismatchError, PeerLostError, RunError
from railgauge.topo.nccl.settings.algorithm import Algorithm

TIMEOUT_S = 5.0


def over_shared_segments(bootstrap):
    """A communicator whose operations go over shared segments."""
    return Communicator(bootstrap, everybody(bootstrap), [list(range(bootstrap.world_size))])


MAKERS = {
    "segments": over_shared_segments,
    "rings": lambda bootstrap: over_rings(bootstrap, [list(range(bootstrap.world_size))], "SHM"),
}
over_both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def two_hosts(bootstrap):
    """The ranks of even number on one host, those of odd number on another."""
    return [list(range(first, bootstrap.world_size, 2)) for first in (0, 1)]


OVER_HOSTS = {
    one.value: lambda bootstrap, one=one: over_hosts(bootstrap, two_hosts(bootstrap), one)
    for one in (Algorithm.RECURSIVE_DOUBLING, Algorithm.RECURSIVE_HALVING, Algorithm.HIERARCHICAL)
}
over_hosts_too = pytest.mark.parametrize("make", [*MAKERS.values(), *OVER_HOSTS.values()], ids=[*MAKERS, *OVER_HOSTS])


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def told_at_once(ranks, make, body):
    """The same, long before the timeout."""
    return told_to_all(ranks, make, body, timeout_s=FAR_S)


def told_to_all(ranks, make, body, timeout_s=TIMEOUT_S):
    """What `body(comm)` raises on each rank, which has to be one and the same."""

    def rank_main(bootstrap):
        comm = make(bootstrap)
        try:
            body(comm)
        except RunError as error:
            return type(error), str(error)
        error = bootstrap.wait_for_failure(RunError("nobody told"), limit_s=3 * timeout_s)
        return type(error), str(error)

    got = on_ranks(ranks, rank_main, timeout_s=timeout_s)
    assert got == [got[0]] * ranks
    return got[0]


@over_hosts_too
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_different_counts_are_named(make, ranks):
    def body(comm):
        comm.all_reduce(np.ones(16, np.float32))
        comm.all_reduce(np.ones(32 if comm.rank == ranks - 1 else 64, np.float32))

    kind, message = told_at_once(ranks, make, body)
    assert kind is MismatchError
    assert "ranks diverge at operation #2: " in message
    assert f"rank {ranks - 1} called all_reduce of 32 float, sum" in message
    assert "called all_reduce of 64 float, sum" in message
    assert "counts differ" in message


@over_both
def test_different_types_are_named(make):
    def body(comm):
        comm.all_reduce(np.ones(8, np.int32 if comm.rank == 1 else np.float32))

    kind, message = told_at_once(3, make, body)
    assert kind is MismatchError
    assert "rank 1 called all_reduce of 8 int32, sum" in message
    assert "types differ" in message


@over_hosts_too
def test_different_operators_are_named(make):
    def body(comm):
        comm.all_reduce(np.ones(8, np.float32), op=Redop.MAX if comm.rank == 0 else Redop.SUM)

    message = told_at_once(3, make, body)[1]
    assert "rank 0 called all_reduce of 8 float, max" in message
    assert "operators differ" in message


@over_both
def test_different_roots_are_named(make):
    def body(comm):
        comm.broadcast(np.ones(8, np.float32), root=1 if comm.rank == 2 else 0)

    message = told_at_once(3, make, body)[1]
    assert "rank 2 called broadcast of 8 float, root 1" in message
    assert "roots differ" in message


@over_hosts_too
def test_different_collectives_are_named(make):
    def body(comm):
        buffer = np.ones(8, np.float32)
        comm.broadcast(buffer) if comm.rank == 1 else comm.all_reduce(buffer)

    kind, message = told_to_all(4, make, body)
    assert kind is MismatchError
    assert "called all_reduce of 8 float, sum" in message
    assert "rank 1 called broadcast of 8 float" in message
    assert "collectives differ" in message


@over_both
def test_a_barrier_is_no_all_reduce(make):
    def body(comm):
        comm.barrier() if comm.rank == 1 else comm.all_reduce(np.zeros(1, np.uint8), op=Redop.MAX)

    kind, message = told_to_all(2, make, body)
    assert kind is MismatchError
    assert "rank 0 called all_reduce of 1 uint8, max; rank 1 called barrier: collectives differ" in message


@over_both
def test_ranks_that_each_take_themselves_for_the_root_are_told_by_the_next_operation(make):
    def body(comm):
        comm.broadcast(np.ones(8, np.float32), root=comm.rank)
        comm.all_reduce(np.ones(8, np.float32))

    kind, message = told_to_all(2, make, body)
    assert kind is MismatchError
    assert "ranks diverge at operation #1: " in message
    assert "roots differ" in message


def test_alltoallv_of_which_a_part_is_not_expected_is_a_mismatch():
    def body(comm):
        give, take = ([0, 5], [0, 0]) if comm.rank == 0 else ([0, 0], [0, 0])
        comm.alltoallv(np.ones(sum(give), np.float32), give, np.ones(0, np.float32), take)

    kind, message = told_to_all(2, over_shared_segments, body)
    assert kind is MismatchError
    assert "sent 20 bytes where 0 were expected" in message


@over_both
def test_the_same_operations_in_another_order_are_named_by_the_first(make):
    def body(comm):
        buffer = np.ones(8, np.float32)
        comm.barrier()
        calls = [comm.broadcast, comm.all_reduce]
        for call in calls if comm.rank == 1 else reversed(calls):
            call(buffer)

    message = told_to_all(2, make, body)[1]
    assert "ranks diverge at operation #2: rank 0 called all_reduce of 8 float, sum; rank 1 called broadcast" in message


@over_both
def test_one_call_too_many_is_told_with_where_the_others_stand(make):
    def body(comm):
        buffer = np.ones(8, np.float32)
        for _ in range(3 if comm.rank == 1 else 4):
            comm.all_reduce(buffer)

    kind, message = told_to_all(3, make, body)
    assert kind is PeerLostError
    assert "rank 1 did not take part: ranks 0 and 2 wait in all_reduce #4 for rank 1, " in message
    assert "which has called no collective since all_reduce #3" in message


@over_hosts_too
def test_a_rank_that_never_calls_is_told(make):
    def body(comm):
        if comm.rank:
            comm.all_reduce(np.ones(8, np.float32))

    message = told_to_all(3, make, body)[1]
    assert "ranks 1 and 2 wait in all_reduce #1 for rank 0, which has not called a collective yet" in message


def test_alltoallv_whose_counts_do_not_fit_is_a_mismatch():
    def body(comm):
        give = [0, 4] if comm.rank == 0 else [4, 0]
        take = [0, 8] if comm.rank == 0 else [4, 0]
        comm.alltoallv(np.ones(4, np.float32), give, np.ones(sum(take), np.float32), take)

    kind, message = told_at_once(2, over_shared_segments, body)
    assert kind is MismatchError
    assert "sent 16 bytes where 32 were expected" in message


def test_two_communicators_in_opposite_orders_are_told_as_a_circle():
    def body(comm):
        part = comm.split(0)
        buffer = np.ones(8, np.float32)
        for each in [comm, part] if comm.rank == 0 else [part, comm]:
            each.all_reduce(buffer)

    message = told_to_all(2, over_shared_segments, body)[1]
    assert "in all_reduce #1 for rank" in message
    assert "in all_reduce #1 among ranks 0 and 1 for rank" in message
