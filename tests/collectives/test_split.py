# SPDX-License-Identifier: Apache-2.0
"""Sub-communicators: who is in them, several in use at once, and how a run ends in one."""

import os
import random

import numpy as np
import pytest
from tests.collectives.wiring import everybody, nets, over_rings
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.connections import Connections
from railgauge.collectives.dtype import Redop
from railgauge.topo.errors import PeerLostError, RunError, UnavailableError, UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def whole(bootstrap, **others):
    order = list(range(bootstrap.world_size))
    return Communicator(bootstrap, everybody(bootstrap), [order], **others)


def ranks_in(comm):
    """The numbers that the ranks gave, as one rank of `comm` gathers them."""

    def gathered(number):
        return comm.all_gather(np.array([number], np.int64), np.zeros(comm.size, np.int64)).tolist()

    return gathered


def test_ranks_of_one_color_are_numbered_by_key_and_then_by_rank():
    keys = [5, 0, 5, -1, 0]

    def body(bootstrap):
        part = whole(bootstrap).split(0, keys[bootstrap.rank])
        return part.rank, part.size, ranks_in(part)(bootstrap.rank)

    order = [3, 1, 4, 0, 2]
    assert on_ranks(5, body) == [(order.index(rank), 5, order) for rank in range(5)]


def test_every_color_is_a_communicator_and_none_takes_no_part():
    colors = [7, None, 1, 7, 1]

    def body(bootstrap):
        part = whole(bootstrap).split(colors[bootstrap.rank])
        return part and ranks_in(part)(bootstrap.rank)

    assert on_ranks(5, body) == [[0, 3], None, [2, 4], [0, 3], [2, 4]]


def test_colors_and_keys_are_whole_numbers_of_any_kind():
    def body(bootstrap):
        comm = whole(bootstrap)
        for wrong in ((1.5, 0), ("a", 0), (0, None), (0, 0.5)):
            with pytest.raises(UsageError, match="whole numbers"):
                comm.split(*wrong)
        return comm.split(np.int64(-3), np.uint8(9 - bootstrap.rank)).rank

    assert on_ranks(3, body) == [2, 1, 0]


def test_an_interface_that_is_missing_on_one_rank_ends_the_splitting_of_all(monkeypatch):
    """Rank 1 finds no interface when its part is connected; nobody waits for the timeout."""
    monkeypatch.setenv("NCCL_SHM_DISABLE", "1")
    order = [0, 1, 2]

    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [order], nets("NET/Socket", [order]))
        if bootstrap.rank == 1:
            monkeypatch.setattr(Connections, "connect", broken(Connections.connect, bootstrap.world_rank))
        bootstrap.barrier()
        with pytest.raises((UnavailableError, RunError), match="no interface here"):
            comm.split(0)
        return True

    assert on_ranks(3, body, timeout_s=FAR_S) == [True] * 3


def broken(connect, rank):
    def instead(self, steps):
        if self._group.world_rank == rank:
            raise UnavailableError("no interface here")
        return connect(self, steps)

    return instead


def test_a_part_of_one_rank_works_alone():
    def body(bootstrap):
        part = whole(bootstrap).split(bootstrap.rank)
        part.barrier()
        return (
            part.all_reduce(np.array([bootstrap.rank])).tolist()
            + part.alltoallv(np.array([8]), [1], np.array([0]), [1]).tolist()
        )

    assert on_ranks(3, body) == [[0, 8], [1, 8], [2, 8]]


def test_parts_of_parts():
    def body(bootstrap):
        half = whole(bootstrap).split(bootstrap.rank // 4)
        quarter = half.split(half.rank // 2, key=-half.rank)
        one = quarter.split(quarter.rank)
        return [ranks_in(comm)(bootstrap.rank) for comm in (half, quarter, one)]

    got = on_ranks(8, body)
    assert got[5] == [[4, 5, 6, 7], [5, 4], [5]]
    assert got[2] == [[0, 1, 2, 3], [3, 2], [2]]


@pytest.mark.parametrize("only", [Algorithm.RING, Algorithm.PAIRS, None])
@pytest.mark.parametrize("transport", ["SHM", "NET/Socket"])
def test_several_are_used_in_any_order_by_one_rank(transport, only, monkeypatch):
    """A grid of ranks: rows and columns and the whole, mixed; what counts is the order within each communicator."""
    rows, columns = 2, 3
    if transport != "SHM":
        monkeypatch.setenv("NCCL_SHM_DISABLE", "1")

    def body(bootstrap):
        order = list(range(6))
        comm = Communicator(bootstrap, everybody(bootstrap), [order], nets(transport, [order]), only=only)
        rank = bootstrap.rank
        row, column = comm.split(rank // columns), comm.split(rank % columns)
        draw = random.Random(11)
        for turn in range(30):
            which = draw.choice("wrc")
            used, members = {
                "w": (comm, order),
                "r": (row, [r for r in order if r // columns == rank // columns]),
                "c": (column, [r for r in order if r % columns == rank % columns]),
            }[which]
            data = np.array([rank + turn, 1], np.int64)
            assert used.all_reduce(data).tolist() == [sum(members) + turn * len(members), len(members)]
            out = np.zeros(len(members), np.int64)
            assert used.alltoall(np.full(len(members), rank), out).tolist() == members
            root = draw.randrange(2)
            assert used.broadcast(np.array([rank * 10]), root=root).tolist() == [members[root] * 10]
        return rows

    assert on_ranks(6, body) == [2] * 6


def test_a_ring_of_a_part_goes_by_its_rank_numbers():
    """Floats are added up in ring order: the same as those of a communicator that has these ranks in this order."""
    values = [np.random.default_rng(rank).standard_normal(4096).astype(np.float32) for rank in range(4)]

    def part(bootstrap):
        comm = over_rings(bootstrap, [[0, 1, 2, 3]])
        return comm.split(0, key=-bootstrap.rank).all_reduce(values[bootstrap.rank].copy()).tobytes()

    def alone(bootstrap):
        return over_rings(bootstrap, [[0, 1, 2, 3]]).all_reduce(values[3 - bootstrap.rank].copy()).tobytes()

    assert set(on_ranks(4, part)) == set(on_ranks(4, alone))


@pytest.mark.parametrize("only", [None, Algorithm.RING])
def test_who_is_missing_in_a_part_is_told_to_all_by_its_number_in_the_job(only):
    def body(bootstrap):
        comm = whole(bootstrap, only=only)
        part = comm.split(bootstrap.rank % 2, key=-bootstrap.rank)
        if bootstrap.rank == 3:
            return bootstrap.wait_for_failure(RunError("nothing"), limit_s=HANGS_AFTER_S).rank
        used = part if bootstrap.rank % 2 else comm
        with pytest.raises(PeerLostError, match="rank 3 did not take part") as caught:
            used.all_reduce(np.ones(8, np.float32))
        return caught.value.rank

    assert on_ranks(5, body, timeout_s=5.0) == [3] * 5


def test_what_fails_in_one_communicator_ends_the_waiting_in_all():
    def body(bootstrap):
        comm = whole(bootstrap)
        part = comm.split(bootstrap.rank // 2)
        if bootstrap.rank < 2:
            bad = np.ones(4 + bootstrap.rank, np.float32)
            with pytest.raises(RunError):
                part.all_reduce(bad)
        else:
            with pytest.raises(RunError, match=r"of [45] float"):
                comm.all_reduce(np.ones(8, np.float32))
        return True

    assert on_ranks(4, body, timeout_s=FAR_S) == [True] * 4


def test_closing_the_whole_closes_its_parts_and_a_part_may_go_first():
    def body(bootstrap):
        comm = whole(bootstrap)
        first, second = comm.split(0), comm.split(0)
        first.close()
        first.close()
        comm.barrier()
        assert ranks_in(second)(bootstrap.rank) == [0, 1]
        comm.close()
        for one in (first, second, comm):
            with pytest.raises(UsageError, match="closed"):
                one.barrier()
            with pytest.raises(UsageError, match="closed"):
                one.split(0)
        return comm._parts

    assert on_ranks(2, body) == [[], []]


def test_parts_that_come_and_go_leave_nothing_behind():
    def body(bootstrap):
        comm = whole(bootstrap)
        before = None
        for turn in range(12):
            part = comm.split(0, key=-bootstrap.rank)
            part.all_reduce(np.ones(turn), op=Redop.SUM)
            part.close()
            comm.barrier()  # the other rank has closed its part too
            if turn == 3:
                before = open_files()
                comm.barrier()  # and opens nothing before both have counted
        return len(bootstrap._watches), len(bootstrap._results), open_files() - before

    watches, results, files = zip(*on_ranks(2, body), strict=True)
    assert (watches, results) == ((1, 1), (1, 1))
    assert max(files) < 4  # the other rank counts too


def open_files():
    return len(os.listdir("/proc/self/fd"))
