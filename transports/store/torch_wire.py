# SPDX-License-Identifier: Apache-2.0
"""The wire protocol of PyTorch's TCPStore (TCPStoreBackend.hpp and TCPStoreLibUvBackend.cpp of torch 2.1 to 2.13).

A connection begins with OPENING, which is torch's request VALIDATE (0) and its magic number; torch's server too closes
one that begins otherwise. After it, each request is a byte for its type, then fields. Integers have the byte order of
the host in torch; here it is little-endian, that of all hosts with GPUs.

    SET          key value                          (no answer)
    COMPARE_SET  key value value                    value
    GET          key                                value, empty when there is none
    ADD          key int64                          int64
    CHECK        count key...                       byte: READY or NOT_READY
    WAIT         count key...                       byte: STOP_WAITING, once all are there
    GETNUMKEYS                                      int64
    DELETE_KEY   key                                int64: how many were removed
    APPEND       key value                          (no answer)
    MULTI_GET    count key...                       value...
    MULTI_SET    count key value...                 (no answer)
    CANCEL_WAIT                                     byte: WAIT_CANCELED
    PING         uint32                             the same
    key, value:  uint64 length, bytes               count: uint64
"""

import struct
from enum import IntEnum

from railgauge.transports.store.store import MAX_KEY, MAX_VALUE

INT64 = struct.Struct("<q")
LENGTH = struct.Struct("<Q")
OPENING = b"\x00" + struct.pack("<I", 0x3C85F7CE)
MAX_KEYS = 128 * 1024
"""Maximum keys of one request; MAX_KEY_COUNT of torch's server."""
MAX_REQUEST = 64 * 1024 * 1024
"""Maximum bytes of the fields of one request together; torch has no such limit."""

READY, NOT_READY = b"\x00", b"\x01"
STOP_WAITING, WAIT_CANCELED = b"\x00", b"\x01"


class Query(IntEnum):
    """The type of a request."""

    SET = 1
    COMPARE_SET = 2
    GET = 3
    ADD = 4
    CHECK = 5
    WAIT = 6
    GETNUMKEYS = 7
    DELETE_KEY = 8
    APPEND = 9
    MULTI_GET = 10
    MULTI_SET = 11
    CANCEL_WAIT = 12
    PING = 13


FIELDS = {
    Query.SET: "kv",
    Query.COMPARE_SET: "kvv",
    Query.GET: "k",
    Query.ADD: "k8",
    Query.CHECK: "#k",
    Query.WAIT: "#k",
    Query.GETNUMKEYS: "",
    Query.DELETE_KEY: "k",
    Query.APPEND: "kv",
    Query.MULTI_GET: "#k",
    Query.MULTI_SET: "#kv",
    Query.CANCEL_WAIT: "",
    Query.PING: "4",
}
"""The fields that follow: k a key, v a value, 4 and 8 that many bytes; # a count of the field after it."""
FIXED = {"4": 4, "8": 8, "#": 8}
LIMITS = {"k": MAX_KEY, "v": MAX_VALUE}


class WireError(ValueError):
    """The bytes received are not this protocol, or exceed its limits."""


def pack(query: Query, *fields: bytes | int) -> bytes:
    """A request: bytes with their length before them, integers as int64 (a count of keys too)."""
    return bytes([query]) + b"".join(INT64.pack(f) if isinstance(f, int) else pack_bytes(f) for f in fields)


def pack_bytes(value: bytes) -> bytes:
    """A key or a value."""
    return LENGTH.pack(len(value)) + value


class RequestReader:
    """Splits a stream into requests, whatever pieces it arrives in; reads no byte twice."""

    def __init__(self) -> None:
        self.opened = False
        """OPENING has arrived."""
        self._buffer = bytearray()
        self._at = 0
        self._query: Query | None = None
        self._kinds = ""
        self._fields: list[bytes] = []
        self._size = 0

    @property
    def held(self) -> int:
        """Bytes of incomplete requests."""
        return len(self._buffer) - self._at + self._size

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        del self._buffer[: self._at]
        self._at = 0
        self._buffer += data

    def next(self) -> tuple[Query, list[bytes]] | None:
        """The next request and its fields (without counts); None until more has arrived.

        Raises:
            WireError: this is not a store's client, there is no such request, or a field is too long or has too many
            keys.
        """
        if not self.opened and not self._open():
            return None
        if self._query is None:
            if self._at == len(self._buffer):
                return None
            self._begin(self._buffer[self._at])
        while len(self._fields) < len(self._kinds):
            if not self._read(self._kinds[len(self._fields)]):
                return None
        query, self._query, self._size = self._query, None, 0
        assert query is not None
        return query, self._fields

    def _open(self) -> bool:
        begin = bytes(self._buffer[: len(OPENING)])
        if not OPENING.startswith(begin):
            raise WireError(f"it is not a store's client: it begins with {begin!r}")
        self.opened = begin == OPENING
        self._at = len(OPENING) if self.opened else 0
        return self.opened

    def _begin(self, code: int) -> None:
        try:
            self._query = Query(code)
        except ValueError:
            raise WireError(f"unknown request {code}") from None
        self._at += 1
        self._kinds = FIELDS[self._query]
        self._fields = []
        self._size = 0

    def _read(self, kind: str) -> bool:
        """Read one field if it is complete."""
        begin, end = self._at, self._at + FIXED.get(kind, LENGTH.size)
        if end > len(self._buffer):
            return False
        if kind in LIMITS:
            begin, end = end, end + self._length(kind, begin)
            if end > len(self._buffer):
                return False
        self._at = end
        if kind == "#":
            self._expect(LENGTH.unpack_from(self._buffer, begin)[0])
        else:
            self._fields.append(bytes(self._buffer[begin:end]))
            self._size += end - begin
        return True

    def _length(self, kind: str, at: int) -> int:
        length: int = LENGTH.unpack_from(self._buffer, at)[0]
        if length > LIMITS[kind] or self._size + length > MAX_REQUEST:
            raise WireError(f"{length} bytes are too many")
        return length

    def _expect(self, count: int) -> None:
        if count > MAX_KEYS:
            raise WireError(f"{count} keys are too many")
        self._kinds = self._kinds[1:] * count
