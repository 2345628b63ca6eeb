# SPDX-License-Identifier: Apache-2.0
"""Operations under way: handles, their order, groups of operations, and errors that come later."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from tests.collectives.wiring import everybody, over_rings
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.work import Work
from railgauge.topo.errors import PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports.fault import Fault

STALL_S = 1.0


def whole(bootstrap):
    return Communicator(bootstrap, everybody(bootstrap), [list(range(bootstrap.world_size))])


def grouped(comm, calls):
    with comm.group():
        calls()


def stalled(bootstrap):
    """A communicator whose first operation takes STALL_S."""
    fault = Fault(kind="stall", rank=0, seconds=STALL_S)
    comm = over_rings(bootstrap, [list(range(bootstrap.world_size))], fault=fault)
    comm.arm_fault()
    return comm


def test_every_collective_can_go_on_in_the_background():
    def body(bootstrap):
        comm, rank = whole(bootstrap), bootstrap.rank
        three, two = np.arange(3) + 10 * rank, np.array([rank, 7])
        works = [
            comm.all_reduce(two, two.copy(), async_op=True),
            comm.all_gather(two, np.zeros(6, int), async_op=True),
            comm.reduce_scatter(three, np.zeros(1, int), async_op=True),
            comm.broadcast(two.copy(), root=2, async_op=True),
            comm.reduce(two.copy(), root=0, async_op=True),
            comm.alltoall(three, np.zeros(3, int), async_op=True),
            comm.alltoallv(two, [2, 0, 0] if rank == 1 else [1, 1, 0], *received(rank), async_op=True),
            comm.gather(two, np.zeros(6, int) if rank == 1 else None, root=1, async_op=True),
            comm.scatter(three, np.zeros(1, int), root=1, async_op=True),
            comm.sendrecv(two, np.zeros(2, int), async_op=True),
            comm.barrier(async_op=True),
        ]
        return [None if (done := work.wait()) is None else done.tolist() for work in works]

    def received(rank):
        counts = ([1, 2, 1], [1, 0, 1], [0, 0, 0])[rank]
        return np.zeros(sum(counts), int), counts

    got = on_ranks(3, body)
    assert [results[0] for results in got] == [[3, 21]] * 3
    assert [results[1] for results in got] == [[0, 7, 1, 7, 2, 7]] * 3
    assert [results[2] for results in got] == [[30], [33], [36]]
    assert [results[3] for results in got] == [[2, 7]] * 3
    assert got[0][4] == [3, 21]
    assert [results[5] for results in got] == [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    assert [results[6] for results in got] == [[0, 1, 7, 2], [7, 7], []]
    assert [results[7] for results in got] == [None, [0, 7, 1, 7, 2, 7], None]
    assert [results[8] for results in got] == [[10], [11], [12]]
    assert [results[9] for results in got] == [[2, 7], [0, 7], [1, 7]]
    assert [results[10] for results in got] == [None] * 3


def test_a_caller_goes_on_while_the_operation_does_and_may_wait_more_than_once():
    def body(bootstrap):
        comm = stalled(bootstrap)
        work = comm.all_reduce(data := np.ones(4), async_op=True)
        if bootstrap.rank == 0:
            assert not work.is_completed()
            with pytest.raises(WaitTimeoutError, match=r"still running after 0\.01 s"):
                work.wait(timeout=0.01)
        assert work.wait() is data
        assert work.wait(timeout=0) is data
        assert work.is_completed()
        return data.tolist()

    assert on_ranks(2, body) == [[2.0] * 4] * 2


def test_a_blocking_call_comes_after_those_under_way():
    def body(bootstrap):
        comm = stalled(bootstrap)
        data = np.ones(4)
        works = [comm.all_reduce(data, async_op=True) for _ in range(3)]
        comm.all_reduce(data)
        return data.tolist(), [work.is_completed() for work in works]

    assert on_ranks(2, body) == [([16.0] * 4, [True] * 3)] * 2


def test_works_of_several_communicators_do_not_wait_for_each_other():
    def body(bootstrap):
        first = whole(bootstrap)
        second = first.split(0)
        used = (first, second) if bootstrap.rank else (second, first)
        works = [comm.all_reduce(np.ones(4), async_op=True) for comm in used]
        return [work.wait().tolist() for work in works]

    assert on_ranks(2, body) == [[[2.0] * 4] * 2] * 2


def test_arrays_are_looked_at_when_it_is_called_and_what_fails_then_is_told_by_wait():
    def body(bootstrap):
        comm = whole(bootstrap)
        with pytest.raises(UsageError, match="read-only"):
            comm.all_reduce(b"1234", async_op=True)
        work = comm.all_reduce(np.ones(4 + bootstrap.rank), async_op=True)
        after = comm.all_reduce(np.ones(4), async_op=True)
        for one in (work, after, work):
            with pytest.raises(RunError):
                one.wait()
        assert work.is_completed()
        return True

    assert on_ranks(2, body) == [True, True]


def test_a_rank_that_is_lost_meanwhile_is_named_by_wait():
    def body(bootstrap):
        comm = whole(bootstrap)
        if bootstrap.rank == 1:
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S).rank
        work = comm.all_reduce(np.ones(8), async_op=True)
        with pytest.raises(PeerLostError, match="rank 1 did not take part") as caught:
            work.wait()
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=5.0) == [1, 1, 1]


def test_what_is_under_way_is_finished_before_the_communicator_closes():
    def body(bootstrap):
        comm = stalled(bootstrap)
        data = np.ones(4)
        works = [comm.all_reduce(data, async_op=True) for _ in range(2)]
        comm.close()
        return data.tolist(), [work.is_completed() for work in works]

    assert on_ranks(2, body) == [([4.0] * 4, [True] * 2)] * 2


def test_arrays_live_as_long_as_the_work_and_no_longer():
    def body(bootstrap):
        comm = stalled(bootstrap)
        work = comm.all_reduce(data := np.ones(4), destination := np.zeros(4), async_op=True)
        source = weakref.ref(data)
        del data
        gc.collect()
        lived = source() is not None
        assert work.wait() is destination
        grown = bytearray(8)
        comm.all_reduce(grown)
        grown.extend(b"more")  # a buffer that is still held cannot grow
        gc.collect()
        return lived, source() is None

    assert on_ranks(2, body) == [(True, True)] * 2


def test_a_communicator_that_nobody_closed_leaves_no_thread():
    before = threading.active_count()

    def body(bootstrap):
        return whole(bootstrap).all_reduce(np.ones(4), async_op=True).wait().tolist()

    assert on_ranks(2, body) == [[2.0] * 4] * 2
    end = time.monotonic() + HANGS_AFTER_S
    while threading.active_count() > before and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert threading.active_count() <= before  # one of an earlier test may have ended meanwhile


def test_a_group_runs_at_its_end_in_order():
    def body(bootstrap):
        comm, rank = whole(bootstrap), bootstrap.rank
        data, all_of_them = np.array([rank]), np.zeros(3, int)
        with comm.group():
            assert comm.all_reduce(data) is data
            with comm.group():
                comm.all_gather(data, all_of_them)
            late = comm.sendrecv(np.array([rank]), came := np.zeros(1, int), async_op=True)
            assert not late.is_completed()
            assert (data[0], all_of_them.sum()) == (rank, 0)
            with pytest.raises(UsageError, match="part of a group"):
                comm.split(0)
        assert late.wait() is came
        return data.tolist() + all_of_them.tolist() + came.tolist()

    assert on_ranks(3, body) == [[3, 3, 3, 3, (rank - 1) % 3] for rank in range(3)]


def test_a_group_of_blocking_operations_is_over_at_its_end():
    def body(bootstrap):
        comm = stalled(bootstrap)
        data = np.ones(4)
        with comm.group():
            comm.all_reduce(data)
            comm.all_reduce(data)
        return data.tolist()

    assert on_ranks(2, body) == [[4.0] * 4] * 2


def test_a_group_that_an_exception_leaves_runs_nothing():
    def body(bootstrap):
        comm = whole(bootstrap)
        data = np.ones(4)
        with pytest.raises(UsageError, match="overlap"):
            grouped(comm, lambda: (comm.all_reduce(data), comm.sendrecv(data, data)))
        return data.tolist(), comm.all_reduce(data).tolist()

    assert on_ranks(2, body) == [([1.0] * 4, [2.0] * 4)] * 2


def test_what_fails_in_a_group_is_raised_at_its_end():
    def body(bootstrap):
        comm = whole(bootstrap)
        wrong = np.ones(4 + bootstrap.rank)
        with pytest.raises(RunError):
            grouped(comm, lambda: (comm.all_reduce(wrong), comm.all_reduce(np.ones(4))))
        return True

    assert on_ranks(2, body) == [True, True]


def test_after_the_run_has_ended_an_operation_that_moves_nothing_raises_too():
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]])
        nothing = np.zeros(0, np.float32)
        if bootstrap.rank == 1:
            bootstrap.fail("on purpose")
        bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S)
        told = []
        for async_op in (False, True):
            try:
                work = comm.all_reduce(nothing, nothing, async_op=async_op)
                work.wait() if async_op else None
            except RunError as error:
                told.append(str(error))
        return told

    assert on_ranks(2, body) == [["rank 1: on purpose"] * 2] * 2


def raising(error):
    def call():
        raise error

    return Work(call, None)


def test_what_a_signals_handler_raises_ends_the_thread_and_an_error_is_kept_for_who_waits():
    interrupted, failed = raising(KeyboardInterrupt()), raising(RunError("a rank is lost"))
    with pytest.raises(KeyboardInterrupt):
        interrupted.run()
    failed.run()
    for work, error in ((interrupted, KeyboardInterrupt), (failed, RunError)):
        assert work.is_completed()
        with pytest.raises(error):
            work.wait(HANGS_AFTER_S)
