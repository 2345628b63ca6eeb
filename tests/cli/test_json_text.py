# SPDX-License-Identifier: Apache-2.0
"""Documents are written as json.dumps writes them, whatever they hold."""

import json
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.cli.json_text import json_text

awkward = st.sampled_from(["},\n   {", "},{", '"', "\\", "\u2028", "é", "", "}"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | awkward
rows = st.lists(st.dictionaries(awkward, scalars, max_size=3), max_size=4)
values = st.recursive(scalars | rows, lambda one: st.lists(one, max_size=3) | st.dictionaries(awkward, one, max_size=3))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(awkward, values, max_size=4), st.sampled_from([None, 1, 2]))
def test_as_json_dumps(content, indent):
    assert json_text(content, indent) == json.dumps(content, indent=indent)


class Colour(StrEnum):
    RED = "red"


class Count(IntEnum):
    ONE = 1


def test_rows_of_other_types():
    content = {"rows": [{"a": Colour.RED, "b": Count.ONE}, {"c": (1, 2)}], "pairs": ({"a": 1}, {"a": 2})}
    assert json_text(content) == json.dumps(content, indent=1)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("inside", [lambda bad: bad, lambda bad: [{"a": bad}]])
def test_a_number_that_json_has_not(indent, inside):
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": inside(float("nan"))}, indent)
