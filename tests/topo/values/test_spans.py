# SPDX-License-Identifier: Apache-2.0
"""Ranges of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.values.cpuset import from_list
from railgauge.topo.values.spans import listed, runs, spans


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((4,), "4"), ((4, 5), "4-5"), ((0, 1, 2, 8), "0-2,8"), (range(3), "0-2")]
)
def test_runs_are_ranges(numbers, text):
    assert listed(numbers) == text


@given(st.sets(st.integers(0, 99)).map(sorted))
def test_a_list_holds_its_numbers_in_the_fewest_runs(numbers):
    assert from_list(listed(numbers)) == tuple(numbers)
    assert all(later[0] > before[-1] + 1 for before, later in zip(runs(numbers), runs(numbers)[1:], strict=False))


def test_what_is_numbered_has_its_plural():
    assert spans("channel", [3]) == "channel 3"
    assert spans("channel", [0, 1, 3]) == "channels 0-1,3"
