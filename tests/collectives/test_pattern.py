# SPDX-License-Identifier: Apache-2.0
"""The verification data against NumPy: what the check expects is what a reduction gives, and nothing else passes."""

import math
from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from tests.collectives.number_types import NUMPY, REDUCED, combined, divided, is_integer, narrowed, widened

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.topo.errors import UsageError

COUNT, FIRST = 1500, 4000
"""Neither begins nor ends a block of the pattern."""
FLOATS = [dtype for dtype in Dtype if not is_integer(dtype)]
EXACT, RANDOM = PatternKind


def pattern(ranks: int, dtype: Dtype, op: Redop, kind: PatternKind) -> native.Pattern:
    return native.Pattern(ranks, dtype, op, 5, kind)


def inputs(ranks: int, dtype: Dtype, op: Redop, kind: PatternKind, first: int = FIRST, count: int = COUNT) -> list:
    made = [np.empty(count, NUMPY[dtype]) for _ in range(ranks)]
    for rank, data in enumerate(made):
        native.fill_pattern(pattern(ranks, dtype, op, kind), rank, data.view(np.uint8), count, first)
    return made


def check(result: np.ndarray, ranks: int, dtype: Dtype, op: Redop, kind: PatternKind) -> tuple:
    return native.check_reduced(pattern(ranks, dtype, op, kind), result.view(np.uint8), len(result), FIRST)


def rounded_once(arrays: list[np.ndarray], dtype: Dtype, op: Redop) -> np.ndarray:
    with np.errstate(over="ignore"):
        value = reduce(lambda a, b: combined(a, b, op), [widened(a, dtype) for a in arrays])
    return narrowed(divided(value, len(arrays)) if op is Redop.AVG else value, dtype)


def rounded_each_time(arrays: list[np.ndarray], dtype: Dtype, op: Redop) -> np.ndarray:
    def pair(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return narrowed(combined(widened(a, dtype), widened(b, dtype), op), dtype)

    value = reduce(pair, arrays)
    return narrowed(divided(widened(value, dtype), len(arrays)), dtype) if op is Redop.AVG else value


@pytest.mark.parametrize("kind", list(PatternKind))
@pytest.mark.parametrize("op", list(Redop))
@pytest.mark.parametrize("dtype", list(Dtype))
def test_a_reduction_in_any_order_and_rounding_passes(dtype, op, kind):
    for ranks in (1, 2, 3, 8, 100):
        arrays = inputs(ranks, dtype, op, kind)
        for order in (arrays, arrays[::-1], arrays[ranks // 2 :] + arrays[: ranks // 2]):
            for rounded in (rounded_once, rounded_each_time):
                verdict = check(rounded(order, dtype, op), ranks, dtype, op, kind)
                assert verdict[0] == 0, (ranks, rounded, verdict)


@pytest.mark.parametrize("kind", list(PatternKind))
@pytest.mark.parametrize("dtype", list(Dtype))
def test_one_flipped_bit_is_found_and_described(dtype, kind):
    op = Redop.SUM if kind is EXACT else Redop.MAX
    result = rounded_once(inputs(3, dtype, op, kind), dtype, op)
    kept = float(result[77])
    result.view(np.uint8)[77 * dtype.bytes + dtype.bytes - 1] ^= 0x40
    wrong, index, expected, got, ulps = check(result, 3, dtype, op, kind)
    assert (wrong, index, expected, ulps) == (1, 77, kept, 0)
    assert got != kept


@pytest.mark.parametrize("kind", list(PatternKind))
@pytest.mark.parametrize("dtype", list(Dtype))
def test_a_copy_has_to_be_of_the_right_rank_and_place(dtype, kind):
    both = pattern(2, dtype, Redop.SUM, kind)
    own, other = (a.view(np.uint8) for a in inputs(2, dtype, Redop.SUM, kind))
    assert native.check_copied(both, 0, own, COUNT, FIRST)[0] == 0
    assert native.check_copied(both, 0, own[9 * dtype.bytes :], COUNT - 9, FIRST + 9)[0] == 0
    assert native.check_copied(both, 0, other, COUNT, FIRST)[0] > COUNT / 2
    assert native.check_copied(both, 0, own, COUNT, FIRST + 1)[0] > COUNT / 2
    own[100 * dtype.bytes] ^= 1
    assert native.check_copied(both, 0, own, COUNT, FIRST)[:2] == (1, 100)


@pytest.mark.parametrize("kind", list(PatternKind))
def test_data_does_not_depend_on_where_it_is_cut(kind):
    (whole,) = inputs(1, Dtype.FLOAT, Redop.SUM, kind, first=0, count=5000)
    for first, count in ((0, 1), (1023, 2), (1024, 1024), (3, 4997)):
        (part,) = inputs(1, Dtype.FLOAT, Redop.SUM, kind, first=first, count=count)
        assert part.tobytes() == whole[first : first + count].tobytes()


@pytest.mark.parametrize("dtype", [Dtype.FLOAT, Dtype.DOUBLE, Dtype.HALF])
def test_a_rank_that_is_missing_from_a_random_sum_shows(dtype):
    arrays = inputs(8, dtype, Redop.SUM, RANDOM)
    assert check(rounded_once(arrays[1:], dtype, Redop.SUM), 8, dtype, Redop.SUM, RANDOM)[0] > 0.95 * COUNT


@pytest.mark.parametrize("ranks", [3, 13, 64, 512])
@pytest.mark.parametrize("op", [Redop.SUM, Redop.AVG])
@pytest.mark.parametrize("dtype", FLOATS)
def test_of_any_number_of_ranks_a_missing_one_and_a_result_of_zeros_show(dtype, op, ranks):
    """However coarse the type: rounded each time, a sum of all ranks' numbers could lose one of them."""
    count = COUNT + 10 * ranks
    arrays = inputs(ranks, dtype, op, RANDOM, count=count)
    assert check(np.zeros(count, NUMPY[dtype]), ranks, dtype, op, RANDOM)[0] > 0.2 * count
    for missing in (0, ranks // 2, ranks - 1):
        others = [*arrays[:missing], np.zeros_like(arrays[0]), *arrays[missing + 1 :]]
        assert check(rounded_once(others, dtype, op), ranks, dtype, op, RANDOM)[0] > 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_random_sum_of_two_may_be_off_by_its_rounding_only(dtype):
    """Three units in the last place are wrong, unless terms cancelled."""
    a, b = inputs(2, dtype, Redop.SUM, RANDOM)
    right = rounded_once([a, b], dtype, Redop.SUM)
    bits = right.view(f"u{dtype.bytes}")
    same_sign = (a.view(bits.dtype) ^ b.view(bits.dtype)) >> (8 * dtype.bytes - 1) == 0
    away = (bits + 3).astype(bits.dtype).view(NUMPY[dtype])
    result = np.where(same_sign, away, right)
    assert check(result, 2, dtype, Redop.SUM, RANDOM)[0] == same_sign.sum()


@pytest.mark.parametrize("dtype", [Dtype.FLOAT, Dtype.HALF, Dtype.F8E5M2])
def test_the_bound_is_told_in_units_in_the_last_place(dtype):
    """Of two terms: a rounding, which is half a unit of their magnitudes' sum; it is more units where they cancel."""
    a, b = inputs(2, dtype, Redop.SUM, RANDOM)
    facts = ml_dtypes.finfo(NUMPY[dtype])
    wrong = np.full(COUNT, np.nan, NUMPY[dtype]).view(np.uint8)
    for index in range(0, COUNT, 101):
        ulps = native.check_reduced(pattern(2, dtype, Redop.SUM, RANDOM), wrong, 1, FIRST + index)[4]
        one, two = float(a[index]), float(b[index])
        unit = max(2.0 ** (math.frexp(one + two)[1] - 1 - facts.nmant), float(facts.smallest_subnormal))
        assert ulps == pytest.approx((abs(one) + abs(two)) * 2.0 ** (-facts.nmant - 1) / unit, rel=1e-2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_reference_of_a_random_sum_is_the_exact_one(dtype):
    arrays = inputs(8, dtype, Redop.SUM, RANDOM)
    result = rounded_once(arrays, dtype, Redop.SUM)
    for index in range(0, COUNT, 101):
        broken = result.copy()
        broken[index] = np.nan
        wrong, at, expected, got, ulps = check(broken, 8, dtype, Redop.SUM, RANDOM)
        assert (wrong, at) == (1, index)
        assert ulps > 0
        assert math.isnan(got)
        assert expected == pytest.approx(math.fsum(float(a[index]) for a in arrays), rel=1e-15)


def test_random_floats_are_of_all_sizes_and_no_zeros():
    for dtype in FLOATS:
        (data,) = inputs(1, dtype, Redop.SUM, RANDOM)
        values = np.abs(data.astype(np.float64))
        assert np.isfinite(values).all()
        assert (values > 0).all()
        assert values.min() < 1e-1
        assert values.max() > 50


def test_ranks_and_places_differ():
    a, b = inputs(2, Dtype.FLOAT, Redop.SUM, EXACT)
    assert (a != b).mean() > 0.9
    assert len(np.unique(a)) > 1000


@pytest.mark.parametrize("dtype", REDUCED)
def test_exact_short_floats_use_their_whole_mantissa(dtype):
    arrays = inputs(2, dtype, Redop.MAX, EXACT)
    assert len(np.unique(np.abs(arrays[0].astype(float)))) >= 8


def test_bad_arguments_are_refused():
    with pytest.raises(UsageError, match="at least 1 rank"):
        native.Pattern(0, Dtype.FLOAT, Redop.SUM, 1)
    with pytest.raises(UsageError, match="unknown dtype"):
        native.Pattern(1, len(Dtype), Redop.SUM, 1)
    with pytest.raises(UsageError, match="shorter"):
        native.fill_pattern(native.Pattern(1, Dtype.FLOAT, Redop.SUM, 1), 0, np.zeros(7, np.uint8), 2)
