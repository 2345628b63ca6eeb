# SPDX-License-Identifier: Apache-2.0
"""The reduction kernel of this processor against NumPy and ml_dtypes. Those of its other instruction sets, second
targets and aliases: tests/native/reduce_test.cc.
"""

from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from tests.collectives.number_types import NUMPY, REDUCED, combined, divided, is_integer, narrowed, widened

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.errors import UsageError

COUNTS = [1, 3, 17, 63, 129, 1009]


def combine(inputs: list[np.ndarray], dtype: Dtype, op: Redop, divisor: int = 0, stream: bool = False) -> np.ndarray:
    out = np.full(inputs[0].nbytes, 0xA5, np.uint8)
    native.combine(out, [np.ascontiguousarray(a).view(np.uint8) for a in inputs], dtype, op, divisor, stream)
    return out.view(NUMPY[dtype])


def reference(inputs: list[np.ndarray], dtype: Dtype, op: Redop, divisor: int = 0) -> np.ndarray:
    with np.errstate(all="ignore"):
        value = reduce(lambda a, b: combined(a, b, op), [widened(a, dtype) for a in inputs])
        return narrowed(divided(value, divisor) if divisor else value, dtype)


def assert_same(got: np.ndarray, want: np.ndarray, dtype: Dtype, op: Redop) -> None:
    """Bit by bit, but for which NaN it is, and which zero is the smaller one."""
    bits = f"u{dtype.bytes}"
    same = got.view(bits) == want.view(bits)
    if not is_integer(dtype):
        same |= np.isnan(got) & np.isnan(want)
        if op in (Redop.MIN, Redop.MAX):
            same |= got == want
    assert same.all(), (np.flatnonzero(~same)[:5], got[~same][:5], want[~same][:5])


def any_bits(n: int, count: int, dtype: Dtype, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    arrays = [random.integers(0, 256, count * dtype.bytes, np.uint8).view(NUMPY[dtype]) for _ in range(n)]
    if not is_integer(dtype):
        with np.errstate(invalid="ignore"):
            for array in arrays:  # C's fmin and fmax, and so NumPy's, make a NaN of a signaling one and a number
                array[np.isnan(array)] = np.nan
    return arrays


def like_size(n: int, count: int, dtype: Dtype, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [(random.normal(size=count) * 3).astype(NUMPY[dtype]) for _ in range(n)]


@pytest.mark.parametrize("op", list(Redop))
@pytest.mark.parametrize("dtype", list(Dtype))
@pytest.mark.parametrize("make", [any_bits, like_size])
def test_every_dtype_operator_and_number_of_inputs(make, dtype, op):
    for n in (1, 2, 3, 4, 8, 31):
        for count in COUNTS:
            inputs = make(n, count, dtype, seed=n * count)
            divisor = n if op is Redop.AVG else 0
            want = reference(inputs, dtype, op, divisor)
            assert_same(combine(inputs, dtype, op, divisor), want, dtype, op)


@pytest.mark.parametrize("op", list(Redop))
@pytest.mark.parametrize("dtype", [Dtype.F8E4M3, Dtype.F8E5M2])
def test_every_pair_of_8_bit_floats(dtype, op):
    """All there is: NaN, infinity, subnormals, saturation, ties."""
    every = np.arange(256, dtype=np.uint8)
    pairs = [np.repeat(every, 256).view(NUMPY[dtype]), np.tile(every, 256).view(NUMPY[dtype])]
    divisor = 2 if op is Redop.AVG else 0
    assert_same(combine(pairs, dtype, op, divisor), reference(pairs, dtype, op, divisor), dtype, op)


@pytest.mark.parametrize("op", list(Redop))
@pytest.mark.parametrize("dtype", [Dtype.HALF, Dtype.BFLOAT16])
def test_every_16_bit_float_with_numbers_of_all_sizes(dtype, op):
    every = np.arange(65536, dtype=np.uint16).view(NUMPY[dtype])
    divisor = 2 if op is Redop.AVG else 0
    for seed in range(20):
        pair = [every, *any_bits(1, 65536, dtype, seed)]
        assert_same(combine(pair, dtype, op, divisor), reference(pair, dtype, op, divisor), dtype, op)


@pytest.mark.parametrize(
    ("dtype", "largest", "double"),
    [(Dtype.HALF, 65504, np.inf), (Dtype.F8E4M3, 448, 448), (Dtype.F8E5M2, 57344, 57344)],
)
def test_what_is_too_large(dtype, largest, double):
    x = np.full(70, largest).astype(NUMPY[dtype])
    assert combine([x, x], dtype, Redop.SUM).astype(float).tolist() == [double] * 70
    assert combine([-x, x], dtype, Redop.PROD).astype(float).tolist() == [-double] * 70


def test_an_infinity_ends_as_the_largest_8_bit_number_and_a_nan_as_nan():
    x = np.array([np.inf, -np.inf, np.nan], np.float32).astype(ml_dtypes.float8_e5m2)
    zeros = np.zeros(3, ml_dtypes.float8_e5m2)
    got = combine([x, zeros], Dtype.F8E5M2, Redop.SUM).astype(float)
    assert got[:2].tolist() == [57344, -57344]
    assert np.isnan(got[2])


@pytest.mark.parametrize("dtype", REDUCED)
def test_short_floats_round_once(dtype):
    """1 + half an ulp + half an ulp: rounded each time it stays 1."""
    one = np.full(5, 1.0).astype(NUMPY[dtype])
    half_ulp = (one.astype(np.float32) * float(ml_dtypes.finfo(NUMPY[dtype]).eps) / 2).astype(NUMPY[dtype])
    got = combine([one, half_ulp, half_ulp], dtype, Redop.SUM)
    assert got.astype(float).tolist() == [1 + float(ml_dtypes.finfo(NUMPY[dtype]).eps)] * 5


@pytest.mark.parametrize("dtype", list(Dtype))
def test_streaming_gives_the_same_at_every_alignment(dtype):
    inputs = like_size(3, 5000, dtype, seed=1)
    want = combine(inputs, dtype, Redop.SUM)
    for shift in range(0, 130 // dtype.bytes, 7):
        memory = np.full(6000 * dtype.bytes, 0xA5, np.uint8)
        out = memory[shift * dtype.bytes :][: want.nbytes]
        native.combine(out, [a.view(np.uint8) for a in inputs], dtype, Redop.SUM, 0, True)
        assert out.tobytes() == want.tobytes()
        assert (memory[: shift * dtype.bytes] == 0xA5).all()
        assert (memory[shift * dtype.bytes + want.nbytes :] == 0xA5).all()


def test_bad_arguments_are_refused():
    data = np.zeros(8, np.uint8)
    with pytest.raises(UsageError, match="no input"):
        native.combine(data, [], Dtype.INT8, Redop.SUM)
    with pytest.raises(UsageError, match="unknown dtype"):
        native.combine(data, [data], len(Dtype), Redop.SUM)
    with pytest.raises(UsageError, match="differ in length"):
        native.combine(data, [data[:4]], Dtype.INT8, Redop.SUM)
