# SPDX-License-Identifier: Apache-2.0
"""NCCL_BUFFSIZE as the size of a connection's slots."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.transports.slots import MOST_SLOT_BYTES, PAGE_BYTES, SLOT_BYTES, SLOTS, slots_of


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("", SLOT_BYTES),
        ("0", SLOT_BYTES),
        ("-2", SLOT_BYTES),
        ("much", SLOT_BYTES),
        ("1", 4096),
        ("65536", 16384),
        ("0x400000", 1 << 20),
        (str(1 << 62), MOST_SLOT_BYTES),
    ],
)
def test_all_slots_together_are_the_buffer(text, each):
    assert slots_of({"NCCL_BUFFSIZE": text}) == (SLOTS, each)


@settings(deadline=None)
@given(st.integers(-(1 << 70), 1 << 70))
def test_any_number_leaves_whole_pages(number):
    count, each = slots_of({"NCCL_BUFFSIZE": str(number)})
    assert count == SLOTS
    assert each % PAGE_BYTES == 0 < each <= MOST_SLOT_BYTES
