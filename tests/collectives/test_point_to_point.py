# SPDX-License-Identifier: Apache-2.0
"""Sends and receives between any two ranks: order, tags, any source, to itself, and what is refused."""

import random
import re
import threading

import numpy as np
import pytest
from tests.collectives.hosts import over_hosts
from tests.collectives.wiring import everybody
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.topo.errors import MismatchError, RunError, UsageError, WaitTimeoutError
from railgauge.transports import vain_waits

SHORT, LONG = 10, 300_000
"""Elements of 8 bytes: within a message, and of several slots."""
WORLDS = {"SHM": lambda ranks: [list(range(ranks))], "NET/Socket": lambda ranks: [[rank] for rank in range(ranks)]}
over_each = pytest.mark.parametrize("transport", WORLDS)


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def on_each(ranks, transport, body, **others):
    """What `body(communicator)` returns on each rank."""

    def rank_main(bootstrap):
        comm = over_hosts(bootstrap, WORLDS[transport](ranks), point_to_point=True)
        try:
            return body(comm)
        finally:
            comm.close()

    return on_ranks(ranks, rank_main, **others)


def values(*seed, count=LONG):
    return np.random.default_rng(seed).integers(-(2**40), 2**40, count)


@over_each
@pytest.mark.parametrize("count", [0, 1, SHORT, 4095, 4096, 4097, 32768, LONG])
def test_a_message_arrives_whole_and_names_its_sender(transport, count):
    def body(comm):
        if comm.rank == 0:
            comm.send(values(count, count=count), 1)
            return comm.recv(got := np.zeros(count, int), 1), got
        return comm.recv(got := np.zeros(count, int), 0), (comm.send(got, 0), got)[1]

    (source, there_and_back), (first, there) = on_each(2, transport, body)
    assert (source, first) == (1, 0)
    assert np.array_equal(there, values(count, count=count))
    assert np.array_equal(there_and_back, values(count, count=count))


@over_each
def test_messages_of_one_tag_stay_in_order_and_tags_are_apart(transport):
    """Long and short ones in turn: a short one never overtakes a long one of its tag."""
    counts = [LONG, 1, SHORT, LONG, 4096, 0, LONG]

    def body(comm):
        if comm.rank == 0:
            sent = [
                comm.isend(values(at, tag, count=count), 1, tag) for at, count in enumerate(counts) for tag in (7, 8)
            ]
            return [one.wait() is not None for one in sent]
        got = {tag: [np.zeros(count, int) for count in counts] for tag in (8, 7)}
        for tag, arrays in got.items():  # all of the tag that was sent last comes first
            for array in arrays:
                assert comm.recv(array, 0, tag) == 0
        return all(
            np.array_equal(one, values(at, tag, count=len(one))) for tag in got for at, one in enumerate(got[tag])
        )

    assert on_each(2, transport, body) == [[True] * 14, True]


@over_each
def test_any_source_takes_whoever_sends_and_says_who_it_was(transport):
    def body(comm):
        if comm.rank:
            comm.send(values(comm.rank, count=LONG if comm.rank == 2 else SHORT), 0, tag=comm.rank % 2)
            return None
        found = []
        for tag, count, senders in ((0, LONG, 1), (1, SHORT, 2)):
            for _ in range(senders):
                got = np.zeros(count, int)
                source = comm.recv(got, tag=tag)
                found.append((source, np.array_equal(got, values(source, count=count))))
        return sorted(found)

    assert on_each(4, transport, body)[0] == [(1, True), (2, True), (3, True)]


@over_each
@pytest.mark.parametrize("count", [SHORT, LONG])
def test_everyone_sends_to_everyone_and_itself_before_anyone_receives(transport, count):
    """In every order of starting: nothing waits for what the others have not done yet."""

    def body(comm):
        everyone, order = range(comm.size), random.Random(comm.rank)
        sends = [lambda to=to: comm.isend(values(comm.rank, to, count=count), to) for to in everyone]
        got = [np.zeros(count, int) for _ in everyone]
        receives = [lambda src=src: comm.irecv(got[src], src) for src in everyone]
        starts = sends + receives if comm.rank % 2 else [*receives, *sends]
        if comm.rank == 2:
            order.shuffle(starts)
        for transfer in [start() for start in starts]:
            transfer.wait()
        return all(np.array_equal(got[src], values(src, comm.rank, count=count)) for src in everyone)

    assert on_each(3, transport, body) == [True] * 3


@over_each
def test_more_short_messages_than_slots_leave_before_the_receiver_comes(transport):
    """A blocking send of a short message does not need its receiver, which is in a collective meanwhile."""

    def body(comm):
        if comm.rank == 0:
            for number in range(100):
                comm.send(np.array([number]), 1)
        total = comm.all_reduce(np.ones(3))
        got = np.zeros(1, int)
        return total.tolist(), [comm.recv(got, 0) + got[0] for _ in range(100)] if comm.rank else None

    assert on_each(2, transport, body) == [([2.0] * 3, None), ([2.0] * 3, list(range(100)))]


@over_each
def test_collectives_do_not_wait_for_transfers_nor_those_for_them(transport):
    def body(comm):
        late = comm.irecv(got := np.zeros(LONG, int), 1 - comm.rank, tag=9)
        assert comm.all_reduce(np.ones(2)).tolist() == [2.0, 2.0]
        assert not late.is_completed()
        comm.barrier()  # the other has looked, too, before anything is sent
        work = comm.all_gather(np.array([comm.rank]), both := np.zeros(2, int), async_op=True)
        comm.send(values(comm.rank), 1 - comm.rank, tag=9)
        late.wait()
        work.wait()
        return both.tolist(), np.array_equal(got, values(1 - comm.rank))

    assert on_each(2, transport, body) == [([0, 1], True)] * 2


@over_each
def test_threads_may_send_and_receive_at_once(transport):
    def body(comm):
        other, wrong = 1 - comm.rank, []

        def turn(tag):
            for number in range(10):
                count = LONG // 10 if number % 3 == 0 else SHORT
                coming = comm.irecv(got := np.zeros(count, int), other, tag)
                comm.send(values(comm.rank, tag, number, count=count), other, tag)
                coming.wait()
                if not np.array_equal(got, values(other, tag, number, count=count)):
                    wrong.append((tag, number))

        threads = [threading.Thread(target=turn, args=(tag,)) for tag in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANGS_AFTER_S)
        return wrong, any(thread.is_alive() for thread in threads)

    assert on_each(2, transport, body) == [([], False)] * 2


def test_a_wait_with_a_limit_ends_and_may_be_repeated():
    def body(comm):
        if comm.rank == 0:
            coming = comm.irecv(got := np.zeros(SHORT, int), 1)
            with pytest.raises(WaitTimeoutError, match=r"still under way after 0\.01 s"):
                coming.wait(0.01)
            assert not coming.is_completed()
            comm.send(np.zeros(1), 1)
            assert coming.wait() is got
            assert coming.wait(0) is got
            return coming.source, got.tolist()
        comm.recv(np.zeros(1), 0)
        return comm.send(np.full(SHORT, 5), 0)

    assert on_each(2, "SHM", body) == [(1, [5] * SHORT), None]


@over_each
@pytest.mark.parametrize(
    ("sent", "expected", "said"),
    [
        (np.zeros(4), np.zeros(5), r"rank 0 sent 4 double with tag 3 to this rank's recv #1 of 5 double from rank 0"),
        (np.zeros(4, np.int64), np.zeros(4), r"rank 0 sent 4 int64 with tag 3 to this rank's recv #1 of 4 double"),
        (np.zeros(LONG), np.zeros(LONG + 1), rf"rank 0 sent {LONG} double with tag 3 to .* of {LONG + 1} double"),
        (np.zeros(LONG), np.zeros(1), rf"rank 0 sent {LONG} double with tag 3 to .* of 1 double from rank 0, tag 3"),
    ],
)
def test_both_ends_must_agree_on_count_and_type(transport, sent, expected, said):
    def body(comm):
        if comm.rank == 0:
            comm.send(sent, 1, tag=3)
            comm.recv(expected, 1, tag=4)
        comm.recv(expected, 0, tag=3)

    for error in on_each(2, transport, body):
        assert isinstance(error, MismatchError), error
        assert re.search(said, str(error)), error


def test_nobody_sends():
    def body(comm):
        if comm.rank == 0:
            comm.recv(np.zeros(3), 1, tag=4)
        comm.recv(np.zeros(3), 0, tag=4)

    for error in on_each(2, "SHM", body, timeout_s=0.5):
        assert isinstance(error, RunError)
        assert re.search(r"nothing moved for 0\.5 s: recv #1 of 3 double from rank [01], tag 4", str(error)), error


def test_a_rank_that_leaves_is_named_to_the_one_that_waits_for_it(monkeypatch):
    monkeypatch.setattr(vain_waits, "LEFT_S", 0.2)

    def body(comm):
        if comm.rank == 1:
            return comm.recv(np.zeros(3), 0, tag=4)
        return None

    left, error = on_each(2, "SHM", body, timeout_s=HANGS_AFTER_S)
    assert left is None
    assert re.search(r"rank 0 on .* left while others wait for it: .*rank 1 waits in recv #1", str(error)), error


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda comm: comm.send(np.zeros(3), 2), r"send: rank 2: ranks are 0 to 1"),
        (lambda comm: comm.send(np.zeros(3), -1), r"send: rank -1: ranks are 0 to 1"),
        (lambda comm: comm.recv(np.zeros(3), -1), r"recv: rank -1: ranks are 0 to 1"),
        (lambda comm: comm.recv(np.zeros(3), 5), r"recv: rank 5: ranks are 0 to 1"),
        (lambda comm: comm.send(np.zeros(3), 1, -1), r"send: tag -1: expected 0 to 4294967295"),
        (lambda comm: comm.recv(np.zeros(3), 1, 2**32), r"recv: tag 4294967296: expected 0 to 4294967295"),
        (lambda comm: comm.send(None, 1), r"send needs an array, but got None"),
        (lambda comm: comm.send(np.zeros((3, 3))[:, 1], 1), r"the array is not C-contiguous"),
        (lambda comm: comm.recv(np.broadcast_to(np.zeros(1), (1,)), 1), r"the array is read-only"),
        (lambda comm: comm.send(np.array(["a"]), 1), r"the array has elements of"),
        (lambda comm: comm.send(np.zeros(3), "1"), r"send: rank '1', tag 0: expected whole numbers"),
        (lambda comm: comm.recv(np.zeros(3), 1, 0.5), r"recv: rank 1, tag 0\.5: expected whole numbers"),
    ],
)
def test_what_cannot_be_sent_is_refused_and_the_communicator_goes_on(call, said):
    def body(comm):
        other = 1 - comm.rank
        late = comm.irecv(np.zeros(1), other, tag=9)  # it goes on too
        with pytest.raises(UsageError, match=said):
            call(comm)
        comm.send(np.zeros(1), other, tag=9)
        late.wait()
        comm.isend(np.full(2, comm.rank), other)
        comm.recv(got := np.zeros(2, int), other)
        return got.tolist()

    assert on_each(2, "SHM", body) == [[1, 1], [0, 0]]


def test_without_point_to_point_and_after_close_it_is_refused():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        with pytest.raises(UsageError, match="no point to point: make it with point_to_point=True"):
            comm.send(np.zeros(1), 1 - comm.rank)
        comm.close()
        with pytest.raises(UsageError, match="closed"):
            comm.recv(np.zeros(1), 1 - comm.rank)

    assert on_ranks(2, body) == [None, None]


@over_each
def test_what_was_sent_arrives_after_the_sender_has_closed(transport):
    gate = threading.Event()

    def body(comm):
        if comm.rank == 0:
            for number in range(20):
                comm.isend(np.full(SHORT, number), 1)
            comm.close()
            gate.set()
            return None
        gate.wait(HANGS_AFTER_S)
        return [(comm.recv(got := np.zeros(SHORT, int), 0), got[0])[1] for _ in range(20)]

    assert on_each(2, transport, body)[1] == list(range(20))


@over_each
def test_parts_of_a_split_number_ranks_anew(transport):
    def body(comm):
        part = comm.split(comm.rank % 2)
        other = 1 - part.rank
        coming = part.irecv(got := np.zeros(LONG, int), other)
        part.send(values(comm.rank), other)
        coming.wait()
        return next(rank for rank in range(comm.size) if np.array_equal(got, values(rank)))

    assert on_each(4, transport, body) == [2, 3, 0, 1]


def test_one_rank_sends_to_itself():
    def body(comm):
        coming = comm.irecv(got := np.zeros(LONG, int), tag=1)
        comm.send(values(1), 0, tag=1)
        comm.send(values(2, count=SHORT), 0, tag=2)
        long = comm.isend(values(3), 0, tag=3)
        assert not long.is_completed()
        comm.recv(short := np.zeros(SHORT, int), 0, tag=2)
        comm.recv(last := np.zeros(LONG, int), 0, tag=3)
        assert long.wait() is not None
        assert (coming.wait() is got, coming.source) == (True, 0)
        return [
            np.array_equal(*pair) for pair in ((got, values(1)), (short, values(2, count=SHORT)), (last, values(3)))
        ]

    assert on_each(1, "SHM", body) == [[True] * 3]
