# SPDX-License-Identifier: Apache-2.0
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.torch_wire import LENGTH, Query, RequestReader, WireError, pack

short = st.binary(max_size=30)
KEYED = [Query.GET, Query.DELETE_KEY]
PAIRED = [Query.SET, Query.APPEND]
requests = st.one_of(
    st.tuples(st.sampled_from(KEYED), st.tuples(short)),
    st.tuples(st.sampled_from(PAIRED), st.tuples(short, short)),
    st.tuples(st.just(Query.COMPARE_SET), st.tuples(short, short, short)),
    st.tuples(st.sampled_from([Query.GETNUMKEYS, Query.CANCEL_WAIT]), st.just(())),
    st.tuples(st.sampled_from([Query.WAIT, Query.CHECK, Query.MULTI_GET]), st.lists(short).map(tuple)),
    st.tuples(st.just(Query.MULTI_SET), st.lists(st.tuples(short, short)).map(lambda pairs: sum(pairs, ()))),
)


def encode(query, fields):
    if wire.FIELDS[query].startswith("#"):
        return pack(query, len(fields) // len(wire.FIELDS[query][1:]), *fields)
    return pack(query, *fields)


def read_all(reader):
    while request := reader.next():
        yield request


@given(st.lists(requests), st.integers(1, 40))
def test_requests_survive_any_cutting(sent, step):
    stream = wire.OPENING + b"".join(encode(*request) for request in sent)
    reader, got = RequestReader(), []
    for at in range(0, len(stream), step):
        reader.feed(stream[at : at + step])
        got += read_all(reader)
    assert got == [(Query.VALIDATE, [wire.MAGIC]), *((query, list(fields)) for query, fields in sent)]


@given(st.lists(st.binary(max_size=80), max_size=8))
def test_any_bytes_are_requests_or_an_error(pieces):
    reader = RequestReader()
    with contextlib.suppress(WireError):
        for piece in pieces:
            reader.feed(piece)
            for query, fields in read_all(reader):
                assert isinstance(query, Query)
                assert all(isinstance(field, bytes) for field in fields)


@pytest.mark.parametrize(
    "stream",
    [
        bytes([99]),
        bytes([Query.SET]) + LENGTH.pack(wire.MAX_KEY + 1),
        bytes([Query.SET]) + LENGTH.pack(2**64 - 1),
        pack(Query.SET, b"k")[:10] + LENGTH.pack(wire.MAX_VALUE + 1),
        bytes([Query.WAIT]) + LENGTH.pack(wire.MAX_KEYS + 1),
        bytes([Query.MULTI_SET]) + LENGTH.pack(2**63),
    ],
    ids=["unknown", "long key", "giant key", "long value", "many keys", "giant count"],
)
def test_what_goes_beyond_the_limits_is_refused_before_it_arrives(stream):
    reader = RequestReader()
    reader.feed(stream)
    with pytest.raises(WireError):
        reader.next()


def test_the_fields_of_a_request_are_limited_together(monkeypatch):
    monkeypatch.setattr(wire, "MAX_REQUEST", 100)
    reader = RequestReader()
    reader.feed(pack(Query.WAIT, 3, b"k" * 40, b"k" * 40, b"k" * 40))
    with pytest.raises(WireError, match="too many"):
        reader.next()


def test_a_set_is_as_torch_sends_it():
    # What TCPStore("...").set("a", "b") of torch 2.13 puts on the wire.
    assert pack(Query.SET, b"/a", b"b").hex(" ") == "01 02 00 00 00 00 00 00 00 2f 61 01 00 00 00 00 00 00 00 62"
    assert wire.OPENING.hex(" ") == "00 ce f7 85 3c"
