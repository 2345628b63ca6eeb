# SPDX-License-Identifier: Apache-2.0
"""Values come out of JSON as they went in, and those of another form do not."""

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.descriptor import Descriptor
from railgauge.transports.typed import Unsigned64, jsonable, listed, read_as, read_json, read_printable_json


class Colour(enum.StrEnum):
    RED = "red"


class Step(NamedTuple):
    rank: int
    names: list[str]


@dataclass(frozen=True)
class Machine:
    name: str
    steps: list[Step]
    colour: Colour | None = None
    sizes: Mapping[str, float] | None = None


def there(kind, value):
    return read_as(kind, json.loads(json.dumps(value, default=jsonable)))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (None, None),
        (int, -3),
        (Unsigned64, (1 << 64) - 1),
        (list[Unsigned64], [0]),
        (bool, True),
        (str, "text"),
        (float, 0.5),
        (bytes, b"\x00\xff"),
        (str | None, None),
        (bytes | Descriptor, Descriptor("1:2:3:4")),
        (list[int], [1, 2]),
        (list[list[bool]], [[True], []]),
        (Sequence[tuple[int, str]], [(1, "a")]),
        (tuple[int, ...], (1, 2, 3)),
        (listed(int, listed(*[bytes] * 2)), (1, (b"a", b"b"))),
        (dict[str, float], {"a": 1.5}),
        (Step, Step(1, ["a"])),
        (Machine | None, Machine("m", [Step(0, [])], Colour.RED, {"x": 1.0})),
    ],
)
def test_a_value_comes_out_as_it_went_in(kind, value):
    found = there(kind, value)
    assert found == value
    assert type(found) is type(value)


def test_a_float_may_have_been_a_whole_number():
    assert type(read_as(float, 3)) is float


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (None, 0),
        (int, True),
        (int, 1.0),
        (int, 1 << 63),
        (int, -(1 << 63) - 1),
        (Unsigned64, 1 << 64),
        (Unsigned64, -1),
        (Unsigned64, True),
        (float, True),
        (float, "1"),
        (float, 10**400),
        (bool, 1),
        (str, None),
        (bytes, "0g"),
        (bytes, 7),
        (str | None, 1),
        (list[int], [1, "2"]),
        (list[int], {"1": 1}),
        (tuple[int, str], [1]),
        (tuple[int, str], [1, "a", "b"]),
        (dict[str, int], {"a": "b"}),
        (dict[str, int], [["a", 1]]),
        (Colour, "green"),
        (Colour, ["red"]),
        (Step, [1]),
        (Step, {"rank": 1, "names": []}),
        (Machine, {"name": "m", "steps": []}),
        (Machine, {"name": "m", "steps": [[1, [2]]], "colour": None, "sizes": None}),
        (Machine, {"name": "m", "steps": [], "colour": None, "sizes": None, "more": 1}),
        (Descriptor, "1:2:3"),
        (Descriptor, "1:2:3:4\n"),
    ],
)
def test_another_form_is_refused(kind, value):
    with pytest.raises(ValueError, match=r".*"):
        read_as(kind, value)


@pytest.mark.parametrize("text", [b"", b"x", b"\xff", b"NaN", b"-Infinity", b"[" * 100_000])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        read_json(text, float | list[float])


def test_text_for_users_comes_without_control_characters():
    read = read_printable_json(b'{"name": "a\\u001b[2J\\nb", "steps": [], "colour": "red", "sizes": null}', Machine)
    assert read == Machine("a\ufffd[2J b", [], Colour.RED)


def test_what_no_exchange_carries_is_an_error_of_ours():
    with pytest.raises(TypeError, match="a set is no value to exchange"):
        json.dumps({1}, default=jsonable)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(JSON)
def test_nothing_else_is_raised_whatever_comes(value):
    for kind in (Machine, Step, list[Step | Colour], bytes | Descriptor, tuple[int, ...], dict[str, Machine]):
        try:
            read_as(kind, value)
        except ValueError:
            continue
