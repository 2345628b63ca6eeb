# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.frame import (
    FROM_HUB,
    FROM_MEMBER,
    HEADER,
    MAX_PAYLOAD,
    Contribution,
    FrameKind,
    FrameReader,
    group_of_result,
    pack,
    pack_contribution,
    pack_result,
    split_contribution,
    split_result,
)
from railgauge.transports.typed import Unsigned64

numbers = st.integers(0, 2**32 - 1)
LEAVES = {
    bytes: st.binary(),
    str: st.text(max_size=8),
    int: st.integers(-(2**63), 2**63 - 1),
    Unsigned64: st.integers(0, 2**64 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}


def payloads(kind):
    """Values of a frame's kind."""
    if kind is None:
        return st.none()
    if kind in LEAVES:
        return LEAVES[kind]
    inner = [payloads(one) for one in typing.get_args(kind)]
    if typing.get_origin(kind) is list:
        return st.lists(*inner, max_size=2)
    if typing.get_origin(kind) is tuple:
        return st.tuples(*inner)
    hints = typing.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{name: payloads(one) for name, one in hints.items()})


def frames(kinds):
    return st.sampled_from(list(kinds)).flatmap(lambda kind: st.tuples(st.just(kind), numbers, payloads(kinds[kind])))


@pytest.mark.parametrize("kinds", [FROM_MEMBER, FROM_HUB])
@given(data=st.data(), step=st.integers(1, 50))
def test_frames_survive_any_cutting(kinds, data, step):
    sent = data.draw(st.lists(frames(kinds), max_size=5))
    stream = b"".join(pack(*frame) for frame in sent)
    reader = FrameReader(kinds)
    assert [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])] == sent


def test_a_frame_over_the_limit_is_refused_by_its_header():
    with pytest.raises(ValueError, match="an invalid frame"):
        FrameReader(FROM_MEMBER).feed(HEADER.pack(FrameKind.GATHER, 0, MAX_PAYLOAD + 1))
    with pytest.raises(ValueError, match="an invalid frame"):
        FrameReader(FROM_MEMBER, 100).feed(HEADER.pack(FrameKind.HELLO, 0, 101))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FrameKind.RESULT, b""),  # only the hub sends it
        (FrameKind.BEAT, b"1"),
        (FrameKind.STATE, b"[1]"),
        (FrameKind.STATE, b"[true, false]"),
        (FrameKind.STATE, b'{"a": 1}'),
        (FrameKind.FAIL, b'{"message": "x", "waits": [0, false], "mismatch": false, "more": 1}'),
        (FrameKind.FAIL, b'{"message": "x", "waits": [0, false]}'),
        (FrameKind.FAIL, b'{"message": 1, "waits": [0, false], "mismatch": false}'),
        (FrameKind.HELLO, b"[" * 400),
        (FrameKind.HELLO, b"\xff"),
        (FrameKind.STATE, b"[NaN, false]"),
        (99, b""),
    ],
)
def test_what_no_rank_sends_is_refused(kind, body):
    with pytest.raises(ValueError, match=r"."):
        FrameReader(FROM_MEMBER).feed(HEADER.pack(kind, 0, len(body)) + body)


@given(st.binary(max_size=64) | st.builds(lambda k, b: HEADER.pack(k, 0, len(b)) + b, st.integers(0, 20), st.binary()))
def test_outsiders_bytes_are_an_error_or_nothing(data):
    for kinds in (FROM_MEMBER, FROM_HUB):
        with contextlib.suppress(ValueError):
            FrameReader(kinds).feed(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_no_json_breaks_the_reader(value):
    body = json.dumps(value).encode()
    for kind in FROM_MEMBER:
        with contextlib.suppress(ValueError):
            FrameReader(FROM_MEMBER).feed(HEADER.pack(kind, 0, len(body)) + body)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_results_come_apart_as_they_were_put_together(values):
    payload = pack_result(1, values, group=7)[HEADER.size :]
    assert (group_of_result(payload), split_result(payload, len(values))) == (7, values)


@given(st.binary(max_size=40), st.integers(0, 5))
def test_a_wrong_result_is_an_error(payload, ranks):
    with contextlib.suppress(ValueError):
        assert len(split_result(payload, ranks)) == ranks


@given(
    st.builds(
        Contribution,
        st.floats(0.001, 1e8),
        st.integers(0, 2**64 - 1),
        st.lists(st.integers(0, 2**32 - 1), max_size=4).map(tuple),
        st.binary(),
    )
)
def test_contributions_come_apart_as_they_were_put_together(given):
    assert split_contribution(pack_contribution(7, given)[HEADER.size :]) == given


SOME = bytes(8) + b"\0\0\0\1"


@pytest.mark.parametrize(
    "payload",
    [b"", b"1234567", b"\xff" * 20, b"\x7f\xf0" + bytes(18), bytes(20), b"\x40" + bytes(7) + SOME, b"\x40" + bytes(18)],
)
def test_a_contribution_without_a_time_or_its_group_is_an_error(payload):
    with pytest.raises(ValueError, match="without a limit"):
        split_contribution(payload)
