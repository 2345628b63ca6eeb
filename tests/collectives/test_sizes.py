# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.collectives.sizes import parse_size, scan
from railgauge.topo.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [("8", 8), ("64K", 65536), ("1.5M", 1572864), ("2G", 2 << 30), ("128mb", 128 << 20), ("0", 0), ("1T", 1 << 40)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "-1", "nan", "inf", "12Q", "1e99", "0x10"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)


def test_scan_by_factor_and_by_step():
    assert list(scan(8, 128, 0, 2)) == [8, 16, 32, 64, 128]
    assert list(scan(8, 20, 5, 1)) == [8, 13, 18]
    assert list(scan(0, 4, 0, 2)) == [0, 1, 2, 4]


def test_an_empty_or_endless_scan_is_refused():
    with pytest.raises(UsageError, match="nothing to scan"):
        list(scan(9, 8, 1, 1))
    with pytest.raises(UsageError, match="-i must be"):
        list(scan(1, 2, 0, 1))


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 50), st.floats(1, 4))
def test_scans_grow_and_stay_inside(begin, more, step, factor):
    sizes = list(scan(begin, begin + more, step, factor))
    assert sizes[0] == begin
    assert sizes == sorted(set(sizes))
    assert sizes[-1] <= begin + more
