# SPDX-License-Identifier: Apache-2.0
"""Numbers are read as C reads them."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.values.number import atoi, strtol

C = ctypes.CDLL(None)
C.strtol.restype = ctypes.c_long
TEXTS = st.text(st.sampled_from(" +-0123789abfxXg,"), max_size=9)


@given(TEXTS)
def test_a_number_of_any_base_is_what_c_makes_of_it(text):
    assert (strtol(text) or 0) == C.strtol(text.encode(), None, 0)


@given(TEXTS)
def test_a_decimal_number_is_what_c_makes_of_it(text):
    assert atoi(text) == C.atoi(text.encode())


@pytest.mark.parametrize(("text", "number"), [("", None), ("x", None), ("9" * 25, 1 << 64), ("-" + "9" * 25, -1 << 64)])
def test_what_is_no_number_or_beyond_any_is_told(text, number):
    assert strtol(text) == number
