# SPDX-License-Identifier: Apache-2.0
"""Collectives on the ranks' own memory: arrays of `Communicator.empty`, arrays anywhere, and some so and some so."""

import gc
import multiprocessing
import os
from datetime import timedelta
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.collectives import oracle
from tests.collectives.wiring import everybody, nets
from tests.transports.ranks import meet_on, on_ranks

from railgauge.collectives import communicator
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.host_engine import STREAM_BYTES
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.zero_copy import CROSS_MEMORY_FROM, REGISTERED_FROM, Sizes
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.store.file_store import FileStore

ARENA_BYTES = 32 << 20


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


@pytest.fixture
def _at_any_size(monkeypatch):
    sizes = dict.fromkeys(NUMBERS, Sizes(1, 1, 1 << 62))
    monkeypatch.setattr(communicator, "zero_copy_sizes", lambda *_: sizes)


def whole(bootstrap, **others) -> Communicator:
    return Communicator(bootstrap, everybody(bootstrap), [list(range(bootstrap.world_size))], **others)


class Arena:
    """Lays arrays one behind the other into memory that all ranks map."""

    def __init__(self, comm: Communicator, size: int = ARENA_BYTES) -> None:
        self._memory = comm.empty(size, np.uint8)
        self._used = 0

    def lay(self, array: np.ndarray) -> np.ndarray:
        if self._used + array.nbytes > self._memory.size:
            self._used = 0
        there = self._memory[self._used : self._used + array.nbytes].view(array.dtype)
        there[:] = array
        self._used += -(-array.nbytes // 8) * 8
        return there


@pytest.mark.usefixtures("_at_any_size")
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("lies", ["registered", "anywhere", "mixed"])
def test_against_numpy(lies, ranks):
    def body(bootstrap):
        comm = whole(bootstrap)
        arena = Arena(comm)
        ways = set()
        for number, case in enumerate(oracle.cases(NUMBERS, seed=ranks)):
            in_registered = lies == "registered" or (lies == "mixed" and (number + comm.rank) % 2)
            oracle.run(comm, case, ranks * 10000 + number, arena.lay if in_registered else oracle.where_it_is)
            if case.count:
                ways.add(comm.ran_zero_copy)
        comm.close()
        return ways

    can_read = all(on_ranks(2, lambda bootstrap: whole(bootstrap)._segment.cross_memory))
    always, never, sometimes = {True}, {False}, {True, False}
    expected = {"registered": always, "anywhere": always if can_read else never}
    for ways in on_ranks(ranks, body):
        assert ways == expected.get(lies, always if can_read else sometimes)


def rank_main(rank: int, ranks: int, path: str, results) -> None:
    try:
        os.environ["NCCL_SOCKET_IFNAME"] = "lo"
        rendezvous = meet_on(FileStore(path, ranks, timedelta(seconds=40)), rank, ranks, timeout_s=40)
        bootstrap = rendezvous.join(rank)
        comm = whole(bootstrap)
        arena = Arena(comm, 4 * ARENA_BYTES)
        ran = {}
        for number, collective in enumerate(NUMBERS):
            for place, lay in {"registered_memory": arena.lay, "anywhere": oracle.where_it_is}.items():
                for in_place in (False, True):
                    case = oracle.Case(collective, "float32", oracle.Redop.SUM, 1_100_003, in_place, "last")
                    oracle.run(comm, case, number, lay)
                    ran[collective, place] = comm.ran_zero_copy
        results.put((rank, (ran, comm._segment.cross_memory)))
        comm.close()
        bootstrap.close()
        rendezvous.close()
    except BaseException as error:
        results.put((rank, repr(error)))


def test_ranks_that_are_processes_read_each_others_memory_where_it_is_quicker(tmp_path):
    ranks = 3
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (ranks, str(tmp_path / "store"), results)
    processes = [context.Process(target=rank_main, args=(rank, *arguments)) for rank in range(ranks)]
    for process in processes:
        process.start()
    got = dict(results.get(timeout=50) for _ in processes)
    for process in processes:
        process.join()
    assert all(isinstance(told, tuple) for told in got.values()), got
    for ran, cross_memory in got.values():
        quicker = {c for c in NUMBERS if c not in oracle.REDUCING and c is not Collective.GATHER}
        assert {c for c in NUMBERS if ran[c, "registered_memory"]} == set(NUMBERS)
        assert {c for c in NUMBERS if ran[c, "anywhere"]} == (quicker if cross_memory else set())


def all_gather(comm, count, lay=oracle.where_it_is):
    """How it ran, `count` floats of all ranks together."""
    out = comm.all_gather(lay(np.full(count // comm.size, comm.rank, np.float32)), lay(np.zeros(count, np.float32)))
    assert out.reshape(comm.size, -1).tolist() == [[rank] * (count // comm.size) for rank in range(comm.size)]
    return comm.ran_zero_copy


def test_small_operations_and_those_that_pass_the_caches_are_not_run_so():
    def body(bootstrap):
        comm = whole(bootstrap)
        if not comm._segment.cross_memory:
            pytest.skip("the kernel lets no process read another's memory here")
        anywhere = [all_gather(comm, size // 4) for size in (REGISTERED_FROM, CROSS_MEMORY_FROM - 8, CROSS_MEMORY_FROM)]
        large = bytearray(STREAM_BYTES)
        comm.repeat(Collective.BROADCAST, large, large, len(large), Dtype.UINT8)
        streamed = comm.ran_zero_copy
        arena = Arena(comm)
        in_registered = [all_gather(comm, size // 4, arena.lay) for size in (REGISTERED_FROM - 8, REGISTERED_FROM)]
        return anywhere, streamed, in_registered

    assert on_ranks(2, body) == [([False, False, True], False, [False, True])] * 2


def test_it_is_turned_off(monkeypatch):
    monkeypatch.setenv("RAILGAUGE_CMA", "0")

    def body(bootstrap):
        comm = whole(bootstrap)
        return all_gather(comm, CROSS_MEMORY_FROM), all_gather(comm, CROSS_MEMORY_FROM, Arena(comm).lay)

    assert on_ranks(2, body) == [(False, True)] * 2


@pytest.mark.parametrize("setting", [{"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "^Tree"}])
def test_an_algorithm_that_is_asked_for_runs(setting):
    def body(bootstrap):
        comm = whole(bootstrap, environ=setting)
        return all_gather(comm, CROSS_MEMORY_FROM, Arena(comm).lay)

    assert on_ranks(2, body) == [False] * 2


def test_arrays_are_as_numpy_has_them():
    def body(bootstrap):
        comm = whole(bootstrap)
        table = comm.empty((3, comm.rank, 5), ml_dtypes.bfloat16)
        none = comm.empty([0, 7], "int8")
        scalar = comm.empty((), np.int32)
        line = comm.empty(1000)
        assert not line.any()
        assert line.flags.c_contiguous
        assert line.flags.writeable
        assert line.ctypes.data % 4096 == 0
        comm.all_reduce(line)
        return [(one.shape, one.dtype.name) for one in (table, none, scalar, line)]

    assert on_ranks(2, body) == [
        [((3, rank, 5), "bfloat16"), ((0, 7), "int8"), ((), "int32"), ((1000,), "float64")] for rank in range(2)
    ]


def test_where_ranks_share_no_memory_it_is_memory_like_any_other():
    def over_a_socket(bootstrap):
        off = {"NCCL_SHM_DISABLE": "1"}
        peers = [
            type(peer)(**{name: getattr(peer, name) for name in peer.__slots__} | {"settings": off})
            for peer in everybody(bootstrap)
        ]
        comm = Communicator(bootstrap, peers, [[0, 1]], nets("NET/Socket", [[0, 1]]))
        return comm.all_reduce(comm.empty(10, np.int32) + comm.rank).tolist()

    assert on_ranks(2, over_a_socket) == [[1] * 10] * 2
    assert on_ranks(1, lambda bootstrap: whole(bootstrap).empty(3).tolist()) == [[0, 0, 0]]


def test_parts_of_a_communicator_have_memory_of_their_own():
    def body(bootstrap):
        comm = whole(bootstrap)
        part = comm.split(comm.rank % 2)
        ours, theirs = Arena(part), Arena(comm)
        size = REGISTERED_FROM
        return all_gather(part, size, ours.lay), all_gather(part, size, theirs.lay), all_gather(comm, size, theirs.lay)

    assert on_ranks(4, body) == [(True, False, True)] * 4


@pytest.mark.parametrize(("shape", "dtype"), [(-1, "int8"), ("x", "int8"), (2, "no type"), (2, object), (1.5, "int8")])
def test_what_is_no_array_is_refused(shape, dtype):
    def body(bootstrap):
        with pytest.raises(UsageError, match="whole numbers, a number type"):
            whole(bootstrap).empty(shape, dtype)

    assert on_ranks(1, body) == [None]


def test_after_the_end_there_is_no_more():
    def body(bootstrap):
        comm = whole(bootstrap)
        kept = comm.empty(1_000_000, np.int32)
        mapped, in_huge_pages = comm.window_bytes
        assert mapped == 4 << 20
        assert 0 <= in_huge_pages <= mapped
        comm.close()
        assert comm.window_bytes == (0, 0)
        kept[:] = 5
        with pytest.raises(UsageError, match="closed"):
            comm.empty(1)
        return int(kept.sum())

    assert on_ranks(2, body) == [5_000_000] * 2


def test_too_much_is_refused_on_all_ranks_and_leaves_all_as_it_was():
    def body(bootstrap):
        comm = whole(bootstrap)
        with pytest.raises(UnavailableError, match=f"{(1 << 50) + 8} bytes of shared memory for 2 ranks.*has .* left"):
            comm.empty(1 << 50 if comm.rank else 8, np.uint8)
        return all_gather(comm, REGISTERED_FROM, Arena(comm).lay)

    assert on_ranks(2, body) == [True] * 2


def test_one_rank_that_cannot_make_or_map_it_is_named():
    def body(bootstrap):
        comm = whole(bootstrap)
        memory = comm._segment.registered_memory
        before = mappings()
        for broken in ("make", "open"):
            if comm.rank == 1:
                comm._segment = BrokenSegment(memory, broken)
            with pytest.raises(UnavailableError, match=f"rank 1: no {broken}"):
                comm.empty(1 << 20, np.uint8)
            assert memory.bytes == 0
        comm._segment = BrokenSegment(memory, None)
        bootstrap.barrier()
        assert mappings() <= before
        return all_gather(comm, REGISTERED_FROM, Arena(comm).lay)

    assert on_ranks(2, body) == [True] * 2


class BrokenSegment:
    """A shared segment on one rank of which one step of making memory fails."""

    def __init__(self, memory, broken) -> None:
        self.registered_memory = self
        self._memory, self._broken = memory, broken

    def __getattr__(self, name):
        if name == self._broken:
            return self._fail
        return getattr(self._memory, name)

    def _fail(self, _argument):
        raise UnavailableError(f"no {self._broken}")


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:railgauge")


def test_memory_that_nobody_holds_goes_back():
    def body(bootstrap):
        comm = whole(bootstrap)
        kept = comm.empty(5000, np.uint8)
        kept[:] = comm.rank
        before = mappings(), len(os.listdir("/proc/self/fd"))
        bootstrap.barrier()
        for number in range(1000):
            array = comm.empty(10_000, np.uint8)
            array[:] = number % 100
            comm.all_reduce(array)
            assert array[-1] == 2 * (number % 100)
            view = array[5:]
            del array
        del view
        last = comm.empty(1, np.uint8)
        bootstrap.barrier()
        after = mappings(), len(os.listdir("/proc/self/fd"))
        bootstrap.barrier()
        held = comm._segment.registered_memory.bytes
        del last
        return before[0] + 2 * 2 >= after[0], abs(after[1] - before[1]) < 4, held, int(kept.sum())

    gc.collect()
    assert on_ranks(2, body) == [(True, True, 3 * 4096, 5000 * rank) for rank in range(2)]
