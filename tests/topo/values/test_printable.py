# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.values.printable import CONTROL, LONGEST_LINE, one_line


def test_one_line():
    assert one_line(" rank 1:\n  no\tmore\r\n\x1b[31m") == "rank 1: no more \ufffd[31m"


@given(st.text())
def test_one_line_is_one_without_control_characters(text):
    line = one_line(text)
    assert not CONTROL.search(line)
    assert not set(line) & set("\n\r\t\x1b\x9b")


def test_a_long_one_is_cut():
    assert len(one_line("x" * (LONGEST_LINE + 1))) == LONGEST_LINE
