# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.collectives.report.log_axis import (
    LogAxis,
    bandwidth_limits,
    bandwidth_marks,
    size_limits,
    size_marks,
    size_name,
)

BANDWIDTHS = st.lists(st.floats(1e-9, 1e15), min_size=1, max_size=6)
SIZES = st.lists(st.integers(1, 1 << 62), min_size=1, max_size=6)


@given(BANDWIDTHS)
def test_all_bandwidths_are_on_the_axis(values):
    low, high = bandwidth_limits(values)
    assert low < min(values)
    assert max(values) < high
    assert all(low / high * 0.99 <= mark / high <= 1.01 for mark, _ in bandwidth_marks(low, high))


@given(BANDWIDTHS)
def test_an_axis_of_bandwidths_has_names(values):
    assert any(named for _, named in bandwidth_marks(*bandwidth_limits(values)))


@given(SIZES, st.integers(1, 20))
def test_marks_of_sizes_are_few_and_on_the_axis(sizes, most):
    marks = size_marks(sizes, most)
    low, high = size_limits(sizes)
    assert 1 <= len(marks) <= most
    assert all(low <= mark <= high for mark in marks)


@given(SIZES)
def test_an_axis_is_straight_in_the_logarithm(sizes):
    axis = LogAxis(*size_limits(sizes), 100, 900)
    assert all(100 <= axis.at(size) <= 900 for size in sizes)
    assert axis.at(math.sqrt(axis.low * axis.high)) == pytest.approx(500)


def test_names_are_those_that_b_takes():
    assert [size_name(size) for size in (8, 1024, 65536, 1 << 20, 3 << 30, 1000)] == [
        "8",
        "1K",
        "64K",
        "1M",
        "3G",
        "1000",
    ]


def test_marks_of_bandwidths_are_round():
    assert [mark for mark, _ in bandwidth_marks(1, 20)] == pytest.approx([1, 2, 5, 10, 20])
    assert [mark for mark, named in bandwidth_marks(0.001, 20) if named] == pytest.approx([0.001, 0.01, 0.1, 1, 10])
