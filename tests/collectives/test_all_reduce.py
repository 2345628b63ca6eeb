# SPDX-License-Identifier: Apache-2.0
"""All-reduce over each transport with ranks as processes, against NumPy."""

import itertools
import multiprocessing
import os
from datetime import timedelta

import ml_dtypes
import numpy as np
import pytest
from tests.collectives.wiring import TRANSPORTS, everybody, nets
from tests.transports.ranks import meet_on, on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Redop
from railgauge.topo.errors import UsageError
from railgauge.transports.store.file_store import FileStore

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64"]
COUNTS = [0, 1, 2, 3, 7, 61, 1009, 65537, 300007]
MANY = [0, 5, 1009]
"""All counts go with one operator, the others with these: the ways through the ring depend on the count alone."""
numpy_dtype = {name: np.dtype(getattr(ml_dtypes, name, None) or name) for name in DTYPES}


def inputs(ranks: int, count: int, dtype: str, seed: int) -> list[np.ndarray]:
    """Small integers, so that every operator is exact in every type and order."""
    random = np.random.default_rng(seed)
    return [random.integers(1, 4, count).astype(numpy_dtype[dtype]) for _ in range(ranks)]


def expected(arrays: list[np.ndarray], op: Redop) -> np.ndarray:
    dtype = arrays[0].dtype
    stack = np.stack([a.astype(np.int64) for a in arrays])
    match op:
        case Redop.SUM:
            result = stack.sum(0)
        case Redop.PROD:
            result = stack.prod(0)
        case Redop.MIN:
            result = stack.min(0)
        case Redop.MAX:
            result = stack.max(0)
        case Redop.AVG if np.issubdtype(dtype, np.integer):
            result = stack.sum(0) // len(arrays)
        case Redop.AVG:
            wide = np.float64 if dtype == np.float64 else np.float32
            return (stack.sum(0).astype(wide) / wide(len(arrays))).astype(dtype)
    return result.astype(dtype)


def rank_main(rank: int, ranks: int, path: str, rings: list[list[int]], transport: str, results) -> None:
    try:
        os.environ["NCCL_SOCKET_IFNAME"] = "lo"
        store = FileStore(path, ranks, timedelta(seconds=40))
        meeting = meet_on(store, rank, ranks, timeout_s=40)
        bootstrap = meeting.join(rank)
        comm = Communicator(bootstrap, everybody(bootstrap), rings, nets(transport, rings))
        for number, dtype in enumerate(DTYPES):
            for op in Redop:
                for count in COUNTS if op is Redop.SUM else MANY:
                    check_one(comm, ranks, count, dtype, op, seed=number * 1000 + count)
        bootstrap.close()
        meeting.close()
        results.put((rank, None))
    except BaseException as error:
        results.put((rank, repr(error)))


def check_one(comm: Communicator, ranks: int, count: int, dtype: str, op: Redop, seed: int) -> None:
    arrays = inputs(ranks, count, dtype, seed)
    own = arrays[comm.rank]
    kept = own.copy()
    want = expected(arrays, op)
    into = np.full(count, 99).astype(own.dtype)
    comm.all_reduce(own, into, op)
    assert own.tobytes() == kept.tobytes(), f"{dtype} {op.label} {count}: the source was changed"
    assert into.tobytes() == want.tobytes(), f"{dtype} {op.label} {count} out of place"
    comm.all_reduce(own, op=op)
    assert own.tobytes() == want.tobytes(), f"{dtype} {op.label} {count} in place"


@pytest.mark.parametrize(("transport", "ranks"), [*itertools.product(TRANSPORTS, [1, 2, 3, 5, 8]), ("mixed", 4)])
def test_every_dtype_and_operator_against_numpy(transport, ranks, tmp_path):
    order = list(range(ranks))
    rings = [order, order[::-1], order[1:] + order[:1]]
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (ranks, str(tmp_path / "store"), rings, transport, results)
    processes = [context.Process(target=rank_main, args=(rank, *arguments)) for rank in range(ranks)]
    for process in processes:
        process.start()
    got = dict(results.get(timeout=45) for _ in processes)
    for process in processes:
        process.join()
    assert got == dict.fromkeys(range(ranks))


def test_real_numbers_come_out_equal_on_all_ranks_and_near_the_truth():
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(10007).astype(np.float32) for _ in range(3)]

    def body(bootstrap):
        return Communicator(bootstrap, everybody(bootstrap), [[0, 1, 2], [0, 2, 1]]).all_reduce(
            arrays[bootstrap.rank].copy()
        )

    got = on_ranks(3, body)
    assert got[0].tobytes() == got[1].tobytes() == got[2].tobytes()
    np.testing.assert_allclose(got[0], np.sum(np.stack(arrays).astype(np.float64), 0), rtol=0, atol=2e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_16_bit_float_survives_a_product_with_one(dtype):
    every = np.arange(65536, dtype=np.uint16).view(dtype)
    ones = np.ones(65536, dtype)

    def body(bootstrap):
        mine = (every if bootstrap.rank == 0 else ones).copy()
        return Communicator(bootstrap, everybody(bootstrap), [[0, 1]]).all_reduce(mine, op=Redop.PROD)

    got = on_ranks(2, body)[1]
    number = ~np.isnan(every.astype(np.float32))
    assert np.array_equal(got.view(np.uint16)[number], every.view(np.uint16)[number])
    assert np.isnan(got.astype(np.float32)[~number]).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_sums_round_to_nearest_even(dtype):
    random = np.random.default_rng(3)
    a, b = (random.integers(0, 65536, 100000, dtype=np.uint16).view(dtype) for _ in range(2))
    finite = np.isfinite(a.astype(np.float32)) & np.isfinite(b.astype(np.float32))
    a, b = a[finite], b[finite]

    def body(bootstrap):
        return Communicator(bootstrap, everybody(bootstrap), [[0, 1]]).all_reduce(
            (a if bootstrap.rank == 0 else b).copy()
        )

    with np.errstate(over="ignore"):
        want = (a.astype(np.float32) + b.astype(np.float32)).astype(dtype)
    assert on_ranks(2, body)[0].tobytes() == want.tobytes()


def test_integers_wrap_and_averages_round_toward_zero():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        wrapped = comm.all_reduce(np.array([127, -128], np.int8))
        average = comm.all_reduce(
            np.array([-3, 3], np.int32) if bootstrap.rank else np.zeros(2, np.int32), op=Redop.AVG
        )
        return wrapped.tolist(), average.tolist()

    assert on_ranks(2, body) == [([-2, 0], [-1, 1])] * 2


def test_a_number_wins_over_nan():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        mine = np.array([np.nan, 1.0, np.nan] if bootstrap.rank else [2.0, np.nan, np.nan], np.float32)
        return comm.all_reduce(mine, op=Redop.MAX).tolist()

    first, second = on_ranks(2, body)
    assert first[:2] == second[:2] == [2.0, 1.0]
    assert np.isnan([first[2], second[2]]).all()


@pytest.mark.parametrize(
    ("source", "into", "message"),
    [
        (np.zeros(4, np.complex64), None, "elements of complex64"),
        (np.zeros(4, np.float32), np.zeros(5, np.float32), "destination"),
        (np.zeros(4, np.float32), np.zeros(4, np.int32), "destination"),
        (np.zeros((4, 4), np.float32)[:, ::2], None, "C-contiguous"),
    ],
)
def test_unusable_arrays_are_refused(source, into, message):
    def body(bootstrap):
        with pytest.raises(UsageError, match=message):
            Communicator(bootstrap, everybody(bootstrap), [[0]]).all_reduce(source, into)
        return True

    assert on_ranks(1, body) == [True]
