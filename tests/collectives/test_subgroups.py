# SPDX-License-Identifier: Apache-2.0
"""Communicators of some ranks, which alone call it; made in the background; and the end of one by a thread."""

import threading
import time

import numpy as np
import pytest
from tests.collectives.hosts import over_hosts
from tests.collectives.wiring import everybody
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.topo.errors import AbortedError, UsageError


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def whole(bootstrap):
    ranks = list(range(bootstrap.world_size))
    return Communicator(bootstrap, everybody(bootstrap), [ranks], point_to_point=True)


def test_a_subset_is_made_by_its_ranks_alone_in_their_order():
    def body(bootstrap):
        comm = whole(bootstrap)
        if comm.rank == 1:
            return comm.all_reduce(np.ones(1)).tolist()  # took no part
        part = comm.subset([3, 0, 2])
        gathered = part.all_gather(np.array([comm.rank]), np.zeros(3, int)).tolist()
        part.isend(np.array([comm.rank]), (part.rank + 1) % 3)
        part.recv(got := np.zeros(1, int), (part.rank + 2) % 3)
        return gathered, part.rank, got.tolist(), comm.all_reduce(np.ones(1)).tolist()

    got = on_ranks(4, body)
    assert got[1] == [4.0]
    assert [got[rank] for rank in (3, 0, 2)] == [
        ([3, 0, 2], 0, [2], [4.0]),
        ([3, 0, 2], 1, [3], [4.0]),
        ([3, 0, 2], 2, [0], [4.0]),
    ]


def test_the_same_subset_again_is_another_communicator():
    def body(bootstrap):
        comm = whole(bootstrap)
        first, second = comm.subset([0, 1]), comm.subset([0, 1])
        late = first.all_reduce(np.ones(2), async_op=True)
        total = second.all_reduce(np.full(2, 5.0)).tolist()
        first.close()
        return late.wait().tolist(), total, comm.subset([0, 1]).all_reduce(np.ones(1)).tolist()

    assert on_ranks(2, body) == [([2.0, 2.0], [10.0, 10.0], [2.0])] * 2


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([0, 0, 1], r"expected each once, of 0 to 1"),
        ([0, 2], r"expected each once, of 0 to 1"),
        ([-1, 0], r"expected each once"),
        (["a"], r"expected whole numbers"),
        ([], r"is not among ranks \[\]"),
    ],
)
def test_what_is_no_subset(ranks, said):
    def body(bootstrap):
        comm = whole(bootstrap)
        with pytest.raises(UsageError, match=said):
            comm.subset(ranks)
        return comm.all_reduce(np.ones(1)).tolist()

    assert on_ranks(2, body) == [[2.0]] * 2


def test_communicators_are_made_in_the_background_in_order():
    def body(bootstrap):
        comm = over_hosts(bootstrap, [[0, 2], [1]], point_to_point=True)
        works = [
            comm.all_reduce(one := np.ones(1), async_op=True),
            comm.split(comm.rank % 2, async_op=True),
            comm.subset([0, 1, 2], async_op=True),
            comm.split(None if comm.rank else 7, async_op=True),
        ]
        if comm.rank == 1:
            works[0].wait()
        _, parity, everyone, none = [work.wait() for work in works]
        return one.tolist(), parity.all_reduce(np.ones(1)).tolist(), everyone.size, none and none.size

    assert on_ranks(3, body) == [([3.0], [2.0], 3, 1), ([3.0], [1.0], 3, None), ([3.0], [2.0], 3, None)]


@pytest.mark.parametrize("hosts", [[[0, 1]], [[0], [1]]])
@pytest.mark.parametrize("what", ["all_reduce", "recv", "work", "irecv"])
def test_any_thread_may_abort_a_wait_and_the_rest_goes_on(hosts, what):
    """Rank 1 never comes; the communicator that was split off before is still good."""

    def body(bootstrap):
        comm = over_hosts(bootstrap, hosts, point_to_point=True)
        spare = comm.split(0)
        if comm.rank == 0:
            waits = {
                "all_reduce": lambda: comm.all_reduce(np.ones(3)),
                "recv": lambda: comm.recv(np.ones(3), 1),
                "work": comm.all_reduce(np.ones(3), async_op=True).wait if what == "work" else None,
                "irecv": comm.irecv(np.ones(3)).wait,
            }
            waiting = threading.Event()
            thread = threading.Thread(target=lambda: (waiting.wait(), time.sleep(0.01), comm.abort()))
            thread.start()
            waiting.set()
            with pytest.raises(AbortedError, match="rank 0: this communicator was aborted"):
                waits[what]()
            thread.join()
            for call in (lambda: comm.all_reduce(np.ones(3)), lambda: comm.send(np.ones(3), 1)):
                with pytest.raises(AbortedError, match="rank 0: this communicator was aborted"):
                    call()
        total = spare.all_reduce(np.ones(2)).tolist()
        comm.abort()
        comm.close()
        return total

    assert on_ranks(2, body, timeout_s=HANGS_AFTER_S) == [[2.0, 2.0]] * 2


def test_sends_and_receives_of_a_group_are_waited_for_at_its_end():
    """Blocking calls in an order that would never end one after another."""

    def body(bootstrap):
        comm, count = whole(bootstrap), 200_000
        other = 1 - comm.rank
        with comm.group():
            comm.send(np.full(count, comm.rank), other)
            source = comm.recv(got := np.zeros(count, int), other)
            anyone = comm.recv(late := np.zeros(1, int), tag=1)
            comm.all_reduce(total := np.ones(1))
            comm.send(np.array([comm.rank]), other, tag=1)
        return source, anyone, set(got.tolist()), late.tolist(), total.tolist()

    assert on_ranks(2, body) == [(1, -1, {1}, [1], [2.0]), (0, -1, {0}, [0], [2.0])]
