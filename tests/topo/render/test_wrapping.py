# SPDX-License-Identifier: Apache-2.0
"""Lines fit the terminal, hang below themselves, and keep every word whole; tables drop columns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.render.palette import Ink, line
from railgauge.topo.render.wrapping import fitting, wrapped, wrapped_text

WORDS = st.lists(st.text("xyz", min_size=1, max_size=9), min_size=1, max_size=30)


@settings(deadline=None)
@given(indent=st.integers(0, 8), words=WORDS, hang=st.none() | st.integers(0, 30), width=st.integers(40, 80))
def test_wrapped_lines_fit_and_keep_every_word(indent, words, hang, width):
    lines = list(wrapped_text(" " * indent + " ".join(words), width, hang))
    assert all(len(one) <= width for one in lines)
    assert [word for one in lines for word in one.split()] == words
    assert all(one.startswith(" " * (indent + 4 if hang is None else min(hang, width // 2))) for one in lines[1:])


def test_what_fits_and_what_goes_to_no_terminal_stays_as_it_is():
    text = line("a  b   c")
    assert list(wrapped(text, 8)) == [text]
    assert list(wrapped(line("word " * 99), None)) == [line("word " * 99)]


def test_long_nodesets_break_behind_commas_and_other_words_stay_whole():
    nodes = f"gpu[{','.join(f'{number:03}' for number in range(1, 99, 2))}]"
    lines = list(wrapped_text(f"FAIL x: {nodes}: lost", 60))
    assert max(map(len, lines)) <= 60
    assert "".join("".join(lines).split()) == "".join(f"FAIL x: {nodes}: lost".split())
    path = "/" + "x" * 90
    assert path in list(wrapped_text(f"see {path} now", 60))[1]


@pytest.mark.parametrize("unit", ["GB/s", "Gb/s", "GT/s", "GiB", "MB", "us", "ms", "s", "MHz", "W", "%"])
def test_a_number_and_its_unit_are_one_word(unit):
    text = f"planned with 48 {unit}, and now it is 24 {unit} wide in all"
    for width in range(20, len(text)):
        assert not [one for one in wrapped_text(text, width) if one.strip().startswith(unit)]
    assert list(wrapped_text("all of its 16 GPUs", 13)) == ["all of its 16", "    GPUs"]


def test_inks_go_with_their_words():
    lines = list(wrapped((("FAIL", Ink.BAD), (" one two three", Ink.PLAIN)), 12))
    assert lines[0][0] == ("FAIL", Ink.BAD)
    assert [ink for _, ink in lines[1]] == [Ink.PLAIN, Ink.PLAIN]


def test_tables_drop_columns_from_the_right():
    rows = [("node", "verdict", "message"), ("gpu1", "FAIL", "a long one")]
    assert fitting(rows, None)[1] == "gpu1  FAIL     a long one"
    assert fitting(rows, 16) == ["node  verdict", "gpu1  FAIL"]
    assert fitting(rows, 1) == ["node", "gpu1"]
