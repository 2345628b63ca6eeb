# SPDX-License-Identifier: Apache-2.0
"""The spellings of sets of cores."""

import pytest

from railgauge.topo.values import cpuset


def test_cores():
    assert cpuset.from_list("0-3,8\n") == (0, 1, 2, 3, 8)
    assert cpuset.from_mask("00000001,0000000f") == (0, 1, 2, 3, 32)
    with pytest.raises(ValueError, match="more than 65536 cores"):
        cpuset.from_list("0-99999999")


def test_what_is_no_number_is_named():
    with pytest.raises(ValueError, match="'xyz' is not a hexadecimal number"):
        cpuset.from_mask("ff,xyz")
    with pytest.raises(ValueError, match="'a' is not a number"):
        cpuset.from_list("0-a")


@pytest.mark.parametrize(
    ("cores", "size", "mask"),
    [
        ((0, 1), 4, "3"),
        ((0, 4), 5, "11"),
        (tuple(range(32)), 32, "ffffffff"),
        ((32,), 33, "1,00000000"),
        ((0, 71), 144, "0000,00000000,00000080,00000000,00000001"),
    ],
)
def test_masks_are_padded_as_the_kernel_does(cores, size, mask):
    assert cpuset.to_mask(cores, size) == mask
    assert cpuset.from_mask(mask) == cores
