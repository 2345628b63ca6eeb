# SPDX-License-Identifier: Apache-2.0
"""Frames of the bootstrap's sockets.

| kind, 1 byte | number, 4 bytes | length, 4 bytes | payload |      integers in network order

The payload is JSON of the kind's type (typed.py), or nothing; that of GATHER and RESULT is bytes, which the hub
passes on unread.
"""

import enum
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.transports.blame import Waits
from railgauge.transports.failure import FailureVerdict
from railgauge.transports.standing import Standing
from railgauge.transports.typed import jsonable, read_json

HEADER = struct.Struct("!BII")
CONTRIBUTION = struct.Struct("!dQI")
GROUP = struct.Struct("!Q")
LENGTH = struct.Struct("!I")
MAX_PAYLOAD = 64 << 20
PENDING_PAYLOAD = 512
"""The longest payload before a rank has joined."""
RECEIVE = 256 << 10


class FrameKind(enum.IntEnum):
    """What a frame is."""

    HELLO = 1  # member -> hub: who it is
    REFUSED = 2  # hub -> member: why it may not join
    WELCOME = 3  # hub -> member: all ranks have joined; the salt of the session's key, and the interval of beats
    GATHER = 4  # member -> hub: a contribution to a group's all-gather `number` (Contribution)
    RESULT = 5  # hub -> member: all contributions: the group's name, their lengths by rank, their bytes
    BEAT = 6  # both directions: still alive
    FAIL = 7  # member -> hub: this rank cannot go on, and why
    QUERY = 8  # hub -> member: report your state
    STATE = 9  # member -> hub: in each communicator the last operations, and which rank it waits for
    ABORT = 10  # hub -> member: the run is over, and why
    BYE = 11  # both directions: a planned end
    WAITING = 12  # hub -> member: who has not joined yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who joins."""

    rank: int
    world_size: int
    version: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """All ranks have joined. salt: of the session's key; beat_s: the interval of beats, in seconds."""

    salt: str
    beat_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """Why a rank cannot go on, whom it waited for, and whether it received another operation's data."""

    message: str
    waits: Waits
    mismatch: bool


FROM_MEMBER: dict[FrameKind, Any] = {
    FrameKind.HELLO: Hello,
    FrameKind.GATHER: bytes,
    FrameKind.BEAT: None,
    FrameKind.FAIL: GivenUp,
    FrameKind.STATE: list[Standing],
    FrameKind.BYE: None,
}
FROM_HUB: dict[FrameKind, Any] = {
    FrameKind.REFUSED: str,
    FrameKind.WELCOME: Welcome,
    FrameKind.RESULT: bytes,
    FrameKind.BEAT: None,
    FrameKind.QUERY: None,
    FrameKind.ABORT: FailureVerdict,
    FrameKind.BYE: None,
    FrameKind.WAITING: str,
}

Frame = tuple[FrameKind, int, Any]


def pack(kind: FrameKind, number: int = 0, payload: Any = None) -> bytes:
    """Encode one frame."""
    if payload is None:
        payload = b""
    body = payload if isinstance(payload, bytes) else json.dumps(payload, default=jsonable).encode()
    return HEADER.pack(kind, number, len(body)) + body


class FrameReader:
    """Splits a stream into frames of the kinds that this side may receive, whatever pieces it arrives in."""

    def __init__(self, kinds: dict[FrameKind, Any], limit: int = MAX_PAYLOAD) -> None:
        self.limit = limit
        """The longest payload accepted."""
        self._kinds = kinds
        self._pieces: list[bytes] = []
        self._held = 0
        self._needed = HEADER.size
        """How many bytes have to be there before the next frame is complete."""

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes and return the frames that are complete.

        Raises:
            ValueError: this is not a stream of frames.
        """
        self._pieces.append(data)
        self._held += len(data)
        if self._held < self._needed:
            return []
        stream, at, frames = b"".join(self._pieces), 0, []
        while at + self._next_size(stream, at) <= len(stream):
            kind, number, length = HEADER.unpack_from(stream, at)
            at += HEADER.size + length
            frames.append((FrameKind(kind), number, _payload(stream[at - length : at], self._kinds[kind])))
        self._needed = self._next_size(stream, at)
        self._pieces, self._held = [stream[at:]], len(stream) - at
        return frames

    def _next_size(self, stream: bytes, at: int) -> int:
        """The size of the frame that begins there; the size of a header while that is incomplete."""
        if at + HEADER.size > len(stream):
            return HEADER.size
        kind, _, length = HEADER.unpack_from(stream, at)
        if kind not in self._kinds or length > self.limit:
            raise ValueError(f"an invalid frame: kind {kind}, {length} bytes")
        return HEADER.size + int(length)


def _payload(body: bytes, kind: Any) -> Any:
    if kind is bytes:
        return body
    if kind is None:
        if body:
            raise ValueError("a payload on a frame that has none")
        return None
    return read_json(body, kind)


def receive(sock: socket.socket, reader: FrameReader) -> list[Frame] | None:
    """Read what has arrived; None when the other end is gone, or is not one of railgauge's."""
    try:
        data = sock.recv(RECEIVE)
        return reader.feed(data) if data else None
    except (BlockingIOError, InterruptedError, TimeoutError):
        return []
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one rank contributes to an all-gather."""

    limit_s: float
    """How long after the first rank the last one may arrive, in seconds."""
    group: int
    """The name of the group that it is in."""
    members: tuple[int, ...]
    """The ranks of that group, in its order; () stands for all of the job."""
    value: bytes


def pack_contribution(number: int, given: Contribution) -> bytes:
    """A GATHER frame: | limit, 8 bytes | group, 8 | how many members, 4 | members, 4 each | value |."""
    head = CONTRIBUTION.pack(given.limit_s, given.group, len(given.members))
    return pack(FrameKind.GATHER, number, head + struct.pack(f"!{len(given.members)}I", *given.members) + given.value)


def split_contribution(payload: bytes) -> Contribution:
    """What a GATHER frame holds.

    Raises:
        ValueError: it is too short, or the limit is not a time.
    """
    if len(payload) < CONTRIBUTION.size:
        raise ValueError("a contribution without a limit")
    limit_s, group, count = CONTRIBUTION.unpack_from(payload)
    value_at = CONTRIBUTION.size + 4 * count
    if not 0 < limit_s < 1e9 or value_at > len(payload):
        raise ValueError("a contribution without a limit, or without its group")
    members = struct.unpack_from(f"!{count}I", payload, CONTRIBUTION.size)
    return Contribution(limit_s, group, members, payload[value_at:])


def pack_result(number: int, values: Sequence[bytes], group: int = 0) -> bytes:
    """A RESULT frame of all ranks' values, in rank order."""
    return pack(
        FrameKind.RESULT, number, b"".join([GROUP.pack(group), *(LENGTH.pack(len(v)) for v in values), *values])
    )


def group_of_result(payload: bytes) -> int:
    """Whose RESULT it is."""
    return int.from_bytes(payload[: GROUP.size], "big")


def split_result(payload: bytes, ranks: int) -> list[bytes]:
    """The values of a RESULT frame.

    Raises:
        ValueError: it has other contents.
    """
    at = GROUP.size + ranks * LENGTH.size
    if len(payload) < at:
        raise ValueError(f"a result without the lengths of {ranks} values")
    lengths = struct.unpack_from(f"!{ranks}I", payload, GROUP.size)
    if at + sum(lengths) != len(payload):
        raise ValueError("a result whose length differs from that of its values")
    values = []
    for length in lengths:
        values.append(payload[at : at + length])
        at += length
    return values
