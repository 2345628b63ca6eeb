# SPDX-License-Identifier: Apache-2.0
"""Frames of the bootstrap's sockets.

| kind, 1 byte | number, 4 bytes | length, 4 bytes | payload (JSON) |      integers in network order
"""

import enum
import json
import socket
import struct
from typing import Any

HEADER = struct.Struct("!BII")
MAX_PAYLOAD = 64 << 20


class Kind(enum.IntEnum):
    """What a frame is."""

    HELLO = 1  # member -> hub: rank, world size, version
    REFUSED = 2  # hub -> member: why it may not join
    WELCOME = 3  # hub -> member: everybody has joined
    GATHER = 4  # member -> hub: a contribution to all-gather `number`
    RESULT = 5  # hub -> member: all contributions, by rank
    BEAT = 6  # both ways: still alive
    FAIL = 7  # member -> hub: this rank cannot go on, and why
    QUERY = 8  # hub -> member: whom do you wait for?
    STATE = 9  # member -> hub: the rank waited for, or -1, and whether for a slot
    ABORT = 10  # hub -> member: the run is over, and why
    BYE = 11  # both ways: a planned end


def pack(kind: Kind, number: int = 0, payload: Any = None) -> bytes:
    """Encode one frame."""
    body = b"" if payload is None else json.dumps(payload).encode()
    return HEADER.pack(kind, number, len(body)) + body


class FrameReader:
    """Takes a stream apart into frames, however it is cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Kind, int, Any]]:
        """Add bytes and return the frames that are complete.

        Raises:
            ValueError: this is no stream of frames.
        """
        self._buffer += data
        frames = []
        while len(self._buffer) >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self._buffer)
            if length > MAX_PAYLOAD:
                raise ValueError(f"a frame of {length} bytes")
            if len(self._buffer) < HEADER.size + length:
                break
            body = bytes(self._buffer[HEADER.size : HEADER.size + length])
            del self._buffer[: HEADER.size + length]
            frames.append((Kind(kind), number, json.loads(body) if body else None))
        return frames


def receive(sock: socket.socket, reader: FrameReader) -> list[tuple[Kind, int, Any]] | None:
    """Read what has arrived; None when the other end is gone."""
    try:
        data = sock.recv(1 << 16)
    except (BlockingIOError, InterruptedError, TimeoutError):
        return []
    except OSError:
        return None
    return reader.feed(data) if data else None
