# SPDX-License-Identifier: Apache-2.0
"""The verification data against NumPy: what the check expects is what a reduction gives, and nothing else passes."""

import ml_dtypes
import numpy as np
import pytest

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, Redop

NAMES = {Dtype.HALF: "float16", Dtype.FLOAT: "float32", Dtype.DOUBLE: "float64"}
NUMPY = {d: np.dtype(ml_dtypes.bfloat16 if d is Dtype.BFLOAT16 else NAMES.get(d, d.label)) for d in Dtype}
COUNT = 1000


def data(rank: int, ranks: int, dtype: Dtype, op: Redop) -> np.ndarray:
    out = np.empty(COUNT * dtype.bytes, np.uint8)
    native.fill_pattern(out, COUNT, rank, ranks, int(dtype), int(op), 5)
    return out.view(NUMPY[dtype])


def check(result: np.ndarray, ranks: int, dtype: Dtype, op: Redop) -> tuple[int, int, float, float]:
    return native.check_pattern(result.view(np.uint8), COUNT, ranks, int(dtype), int(op), 5)


def reduce(arrays: list[np.ndarray], op: Redop) -> np.ndarray:
    total = arrays[0]
    for other in arrays[1:]:
        match op:
            case Redop.SUM | Redop.AVG:
                total = total + other
            case Redop.PROD:
                total = total * other
            case Redop.MIN:
                total = np.minimum(total, other)
            case Redop.MAX:
                total = np.maximum(total, other)
    if op is not Redop.AVG:
        return total
    if np.issubdtype(total.dtype, np.integer):
        return np.sign(total) * (np.abs(total) // total.dtype.type(len(arrays)))  # toward zero
    return (total.astype(np.float64 if total.dtype == np.float64 else np.float32) / len(arrays)).astype(total.dtype)


@pytest.mark.parametrize("dtype", list(Dtype))
@pytest.mark.parametrize("op", list(Redop))
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 100])
def test_a_reduction_in_either_order_passes(dtype, op, ranks):
    arrays = [data(rank, ranks, dtype, op) for rank in range(ranks)]
    for order in (arrays, arrays[::-1]):
        wrong = check(reduce(order, op), ranks, dtype, op)
        assert wrong[0] == 0, wrong


@pytest.mark.parametrize("dtype", list(Dtype))
def test_one_flipped_bit_is_found_and_described(dtype):
    result = reduce([data(rank, 3, dtype, Redop.SUM) for rank in range(3)], Redop.SUM)
    kept = float(result[77])
    result.view(np.uint8)[77 * dtype.bytes] ^= 1
    wrong, index, expected, got = check(result, 3, dtype, Redop.SUM)
    assert (wrong, index, expected) == (1, 77, kept)
    assert got != kept


def test_ranks_and_places_differ():
    a, b = data(0, 4, Dtype.FLOAT, Redop.SUM), data(1, 4, Dtype.FLOAT, Redop.SUM)
    assert (a != b).mean() > 0.9
    assert len(np.unique(a)) > 32
