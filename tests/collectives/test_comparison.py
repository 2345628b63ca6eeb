# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collectives.results import row, timing

from railgauge.collectives.comparison import compare

US = st.floats(0.01, 1e6)


def test_rows_are_the_same_by_bytes_type_operator_and_root():
    old = [row(8), row(8, dtype="half"), row(8, redop="max"), row(8, root=1), row(16)]
    found = compare(old, [row(8), row(64)], 0.1)
    assert [(one.name.bytes, one.way) for one in found.rows] == [(8, "out_of_place"), (8, "in_place")]
    assert [str(name) for name in found.only_before] == [
        "8 B half sum",
        "8 B float max",
        "8 B float sum root 1",
        "16 B float sum",
    ]
    assert [str(name) for name in found.only_after] == ["64 B float sum"]


def test_each_way_is_judged_by_itself():
    found = compare([row(1024, 10, 10)], [row(1024, 11, 12)], 0.1)
    assert [(one.way, one.worse) for one in found.rows] == [("out_of_place", False), ("in_place", True)]
    assert found.worse == [found.rows[1]]


@given(US, US, st.floats(0, 0.99))
def test_worse_is_less_than_the_share_that_has_to_stay(before, after, tolerance):
    one = compare([row(4096, before)], [row(4096, after)], tolerance).rows[0]
    assert one.speed == pytest.approx(before / after)
    if abs(one.speed - (1 - tolerance)) > 1e-9:
        assert one.worse == (one.speed < 1 - tolerance)


@given(US)
def test_the_same_result_is_not_worse_without_any_tolerance(us):
    assert not compare([row(8, us, us)], [row(8, us, us)], 0.0).worse


def test_of_repeated_scans_the_median_counts():
    found = compare([row(8, us) for us in (10, 1000, 12)], [row(8, us) for us in (12, 13, 1)], 0.1)
    assert found.rows[0].before_us == pytest.approx(12)
    assert found.rows[0].after_us == pytest.approx(12)


def test_cpu_time_is_not_taken_for_time():
    clock = row(8, 10)
    shown = row(8, out_of_place=timing(8, 10).__class__(time_us=3.0, algbw_gb_per_s=8e-4, busbw_gb_per_s=8e-4, wrong=0))
    assert compare([clock], [shown], 0.1).rows[0].speed == pytest.approx(1)


def test_nothing_moved_is_compared_by_time():
    assert compare([row(0, 2.0)], [row(0, 4.0)], 0.1).rows[0].speed == pytest.approx(0.5)


def test_no_time_at_all_is_no_division():
    none = row(0, out_of_place=timing(0, 1).__class__(time_us=0.0, algbw_gb_per_s=0.0, busbw_gb_per_s=0.0, wrong=None))
    assert compare([none], [none], 0.1).rows[0].speed == 1
