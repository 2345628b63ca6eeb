# SPDX-License-Identifier: Apache-2.0
"""Operators and types that host memory has beyond NCCL's, against NumPy, and what is refused by name."""

from functools import reduce

import numpy as np
import pytest
from tests.collectives.hosts import over_hosts
from tests.collectives.wiring import everybody
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Bitwise, PreMulSum, Redop
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm

RANKS, COUNT = 3, 1000
INTEGERS = [np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")]
FUNCTIONS = {
    Redop.SUM: np.add,
    Redop.PROD: np.multiply,
    Redop.MIN: np.minimum,
    Redop.MAX: np.maximum,
    Bitwise.BAND: np.bitwise_and,
    Bitwise.BOR: np.bitwise_or,
    Bitwise.BXOR: np.bitwise_xor,
}


def given(rank, dtype, count=COUNT):
    random = np.random.default_rng(rank)
    if dtype is bool:
        return random.integers(0, 2, count).astype(bool)
    if dtype.kind == "c":
        return (random.integers(-50, 50, count) + 1j * random.integers(-50, 50, count)).astype(dtype)
    if dtype.kind == "f":
        return random.integers(-50, 50, count).astype(dtype)
    return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype, endpoint=True)


def on_all(body, ranks=RANKS, **others):
    return on_ranks(ranks, lambda bootstrap: body(over(bootstrap)), **others)


def over(bootstrap, only=None):
    return Communicator(bootstrap, everybody(bootstrap), [list(range(bootstrap.world_size))], only=only)


@pytest.mark.parametrize("only", [None, Algorithm.RING, Algorithm.RECURSIVE_DOUBLING])
def test_integers_by_every_operator(only):
    def body(bootstrap):
        comm, wrong = over(bootstrap, only), []
        for dtype in INTEGERS:
            for op, function in FUNCTIONS.items():
                expected = reduce(function, [given(rank, dtype) for rank in range(RANKS)]).astype(dtype)
                got = comm.all_reduce(given(comm.rank, dtype), op=op)
                part = comm.reduce_scatter(given(comm.rank, dtype, RANKS * 100), np.zeros(100, dtype), op)
                parts = reduce(function, [given(rank, dtype, RANKS * 100) for rank in range(RANKS)]).astype(dtype)
                root = comm.reduce(given(comm.rank, dtype), np.zeros(COUNT, dtype), op, root=1)
                own = slice(comm.rank * 100, comm.rank * 100 + 100)
                if not (np.array_equal(got, expected) and np.array_equal(part, parts[own])):
                    wrong.append((dtype, op))
                if comm.rank == 1 and not np.array_equal(root, expected):
                    wrong.append((dtype, op))
        return wrong

    assert on_ranks(RANKS, body) == [[]] * RANKS


def test_averages_of_16_bits_round_toward_zero():
    def body(comm):
        return [
            comm.all_reduce(given(comm.rank, dtype) // 4, op=Redop.AVG) for dtype in map(np.dtype, ("int16", "uint16"))
        ]

    for dtype, got in zip(("int16", "uint16"), on_all(body)[0], strict=True):
        total = sum((given(rank, np.dtype(dtype)) // 4).astype(int) for rank in range(RANKS))
        assert np.array_equal(got, np.trunc(total / RANKS).astype(dtype))


def test_bools():
    """Sums are `or`, products `and`, as NumPy and PyTorch have it."""
    functions = FUNCTIONS | {Redop.SUM: np.logical_or, Redop.PROD: np.logical_and}

    def body(comm):
        got = [comm.all_reduce(given(comm.rank, bool), op=op) for op in functions]
        return [one.dtype == bool and one.view(np.uint8).max() <= 1 for one in got], got

    alike, got = on_all(body)[1]
    assert all(alike)
    for function, one in zip(functions.values(), got, strict=True):
        assert np.array_equal(one, reduce(function, [given(rank, bool) for rank in range(RANKS)]))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers(name):
    dtype = np.dtype(name)

    def body(comm):
        own = given(comm.rank, dtype)
        parts = np.zeros(4, dtype)
        return (
            comm.all_reduce(own.copy()),
            comm.all_reduce(own.copy(), op=Redop.AVG),
            comm.all_gather(own, np.zeros(RANKS * COUNT, dtype)),
            comm.alltoallv(own[:3], [1, 1, 1], parts[:3], [1, 1, 1]),
        )

    everyone = [given(rank, dtype) for rank in range(RANKS)]
    for rank, (total, mean, gathered, swapped) in enumerate(on_all(body)):
        assert np.array_equal(total, sum(everyone))
        assert np.allclose(mean, sum(everyone) / RANKS)
        assert np.array_equal(gathered, np.concatenate(everyone))
        assert np.array_equal(swapped, [one[rank] for one in everyone])


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int32", "uint8", "int16", "complex64"])
@pytest.mark.parametrize("hosts", [[[0, 1, 2]], [[0], [1], [2]]])
def test_a_premultiplied_sum_leaves_the_source(name, hosts, monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")
    dtype = np.dtype(name)

    def small(rank, count):
        return (given(rank, dtype, count) % 5).astype(dtype) if dtype.kind != "c" else given(rank, dtype, count)

    def body(bootstrap):
        comm = over_hosts(bootstrap, hosts)
        op, own = PreMulSum(comm.rank + 2), small(comm.rank, 9000)
        out = comm.all_reduce(own, np.zeros_like(own), op)
        part = comm.reduce_scatter(own, np.zeros(3000, dtype), op)
        at_root = comm.reduce(own, np.zeros_like(own), op, root=2, async_op=True).wait()
        kept = np.array_equal(own, small(comm.rank, 9000))
        return kept, out, part, at_root, comm.all_reduce(own, op=op)

    expected = sum(small(rank, 9000) * dtype.type(rank + 2) for rank in range(RANKS))
    results = on_ranks(RANKS, body)
    for rank, (kept, out, part, at_root, in_place) in enumerate(results):
        assert kept
        assert np.array_equal(out, expected)
        assert np.array_equal(in_place, expected)
        assert np.array_equal(part, expected[rank * 3000 : rank * 3000 + 3000])
        assert rank != 2 or np.array_equal(at_root, expected)


def test_a_factor_is_rounded_to_the_type():
    def body(comm):
        return comm.all_reduce(np.full(3, 3, np.float16), op=PreMulSum(1 / 3)), comm.all_reduce(
            np.full(3, 8, np.int64), op=PreMulSum(-(2**40))
        )

    halves, integers = on_all(body)[0]
    assert np.array_equal(halves, np.float16(3) * np.float16(1 / 3) * np.float16(RANKS) * np.ones(3, np.float16))
    assert integers.tolist() == [-8 * RANKS * 2**40] * 3


@pytest.mark.parametrize(
    ("array", "op", "said"),
    [
        (np.zeros(3), Bitwise.BAND, "all_reduce: band does not reduce double"),
        (np.zeros(3, np.float16), Bitwise.BXOR, "all_reduce: bxor does not reduce half"),
        (np.zeros(3, bool), Redop.AVG, "all_reduce: avg does not reduce bool"),
        (np.zeros(3, bool), PreMulSum(1), "premul_sum does not reduce bool"),
        (np.zeros(3, np.complex64), Redop.PROD, "all_reduce: prod does not reduce complex64"),
        (np.zeros(3, complex), Redop.MAX, "all_reduce: max does not reduce complex128"),
        (np.zeros(3, complex), Bitwise.BOR, "all_reduce: bor does not reduce complex128"),
        (np.zeros(3, np.int8), PreMulSum(128), "premul_sum: 128.000000 is not a number of type int8"),
        (np.zeros(3, int), PreMulSum(0.5), "premul_sum: 0.500000 is not a number of type int64"),
        (np.zeros(3, np.uint16), PreMulSum(-1), "premul_sum: -1.000000 is not a number of type uint16"),
        (np.zeros(3), PreMulSum("x"), "op PreMulSum"),
        (np.zeros(3), 8, "unknown operator"),
        (np.zeros(3, np.longdouble), Redop.SUM, "the array has elements of"),
        (np.zeros(3, np.clongdouble), Redop.SUM, "the array has elements of"),
    ],
)
def test_what_no_operator_reduces_is_refused_by_name(array, op, said):
    def body(comm):
        with pytest.raises(UsageError, match=said):
            comm.all_reduce(array, op=op)
        return comm.all_reduce(np.ones(1)).tolist()

    assert on_all(body) == [[float(RANKS)]] * RANKS


def test_source_and_destination_of_bytes_and_bools_differ():
    def body(comm):
        with pytest.raises(UsageError, match="source is bool, destination uint8"):
            comm.all_reduce(np.zeros(3, bool), np.zeros(3, np.uint8))

    assert on_all(body) == [None] * RANKS
