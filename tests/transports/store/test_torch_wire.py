# SPDX-License-Identifier: Apache-2.0
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transports.store.wire_requests import any_requests, cut, encode

from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.torch_wire import LENGTH, Query, RequestReader, WireError, pack


def read_all(reader):
    while request := reader.next():
        yield request


def opened_reader():
    reader = RequestReader()
    reader.feed(wire.OPENING)
    assert reader.next() is None
    assert reader.opened
    return reader


@given(st.lists(any_requests()), st.integers(1, 40))
def test_requests_survive_any_cutting(sent, step):
    stream = wire.OPENING + b"".join(encode(*request) for request in sent)
    reader, got = RequestReader(), []
    for piece in cut(stream, [step]):
        reader.feed(piece)
        got += read_all(reader)
    assert got == [(query, list(fields)) for query, fields in sent]


@given(st.lists(st.binary(max_size=80), max_size=8))
def test_any_bytes_are_requests_or_an_error(pieces):
    reader = opened_reader()
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
    reader = opened_reader()
    reader.feed(stream)
    with pytest.raises(WireError):
        reader.next()


@given(st.binary(min_size=1).filter(lambda begin: not wire.OPENING.startswith(begin[:5])))
def test_what_does_not_begin_as_a_client_is_refused_at_its_first_wrong_byte(begin):
    wrong = next(n for n, (got, wanted) in enumerate(zip(begin, wire.OPENING, strict=False)) if got != wanted)
    reader = RequestReader()
    reader.feed(begin[:wrong])
    assert reader.next() is None
    reader.feed(begin[wrong : wrong + 1])
    with pytest.raises(WireError, match="not a store's client"):
        reader.next()


def test_the_fields_of_a_request_are_limited_together(monkeypatch):
    monkeypatch.setattr(wire, "MAX_REQUEST", 100)
    reader = opened_reader()
    reader.feed(pack(Query.WAIT, 3, b"k" * 40, b"k" * 40, b"k" * 40))
    with pytest.raises(WireError, match="too many"):
        reader.next()


def test_a_set_is_as_torch_sends_it():
    # What TCPStore("...").set("a", "b") of torch 2.13 puts on the wire.
    assert pack(Query.SET, b"/a", b"b").hex(" ") == "01 02 00 00 00 00 00 00 00 2f 61 01 00 00 00 00 00 00 00 62"
    assert wire.OPENING.hex(" ") == "00 ce f7 85 3c"
