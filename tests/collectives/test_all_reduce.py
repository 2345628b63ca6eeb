# SPDX-License-Identifier: Apache-2.0
"""All-reduce: how numbers are rounded, wrap and compare; test_collectives.py has the rest."""

import ml_dtypes
import numpy as np
import pytest
from tests.collectives.wiring import everybody
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Redop


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
