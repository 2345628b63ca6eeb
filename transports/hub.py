# SPDX-License-Identifier: Apache-2.0
"""The hub of the bootstrap's star: runs in a thread beside rank 0, joins the ranks, passes on what they gather,
and decides which rank ended a run when one does.
"""

import contextlib
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from railgauge.transports.frame import FrameReader, Kind, pack, receive

TICK_S = 0.05
BEATS_PER_TIMEOUT = 10
SILENT_SHARE = 0.6
"""The other end is lost after this share of the timeout without a beat: before the waits on it reach theirs."""
SEND_LIMIT_S = 2.0
"""A rank that takes nothing for so long is lost: the others' signs of life wait behind it."""
STATES_WITHIN_S = 1.0
"""How long ranks have to say whom they wait for, when one of them gave up."""


Waits = tuple[int, bool]
"""The rank waited for (-1: none), and whether it has to free a slot (else it has to send data)."""
NOBODY: Waits = (-1, False)


@dataclass(slots=True)
class Member:
    """The hub's view of one connection."""

    sock: socket.socket
    rank: int = -1
    reader: FrameReader = field(default_factory=FrameReader)
    heard: float = field(default_factory=time.monotonic)
    left: bool = False


@dataclass(slots=True)
class Gather:
    """An all-gather that not all ranks have come to yet."""

    values: dict[int, Any]
    deadline: float


class Hub:
    """Joins `world_size` ranks on a listening socket and serves them until all have left or one fails."""

    def __init__(self, listener: socket.socket, world_size: int, timeout_s: float, version: str) -> None:
        self.address: tuple[str, int] = _reachable(listener)
        self._listener = listener
        self._world_size = world_size
        self._timeout_s = timeout_s
        self._version = version
        self._started = time.monotonic()
        self._members: dict[int, Member] = {}
        self._gathers: dict[int, Gather] = {}
        self._selector = selectors.DefaultSelector()
        self._beat_s = beat_interval(timeout_s)
        self._next_beat = 0.0
        self._first_failure: tuple[int, dict[str, Any], float] | None = None
        self._states: dict[int, Waits] = {}
        self._over = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="bootstrap-hub", daemon=True)

    def start(self) -> None:
        """Begin to accept ranks."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._thread.start()

    def finish(self) -> None:
        """Wait until all ranks have left, or the timeout has passed, and end."""
        self._thread.join(self._timeout_s)
        self.stop()

    def stop(self) -> None:
        """End at once."""
        self._stop.set()
        self._thread.join(self._timeout_s)

    def _serve(self) -> None:
        try:
            while not self._stop.is_set() and not self._over:
                for key, _ in self._selector.select(TICK_S):
                    if key.data is None:
                        self._accept()
                    else:
                        self._read(key.data)
                self._look_at_clocks()
        finally:
            for key in list(self._selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]
            self._selector.close()

    # Joining ----------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            sock, _ = self._listener.accept()
            sock.settimeout(min(self._timeout_s, SEND_LIMIT_S))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ, Member(sock))

    def _hello(self, member: Member, hello: Any) -> None:
        problem = self._objection(hello)
        if problem:
            self._send(member, pack(Kind.REFUSED, 0, problem))
            self._drop(member)
            return
        member.rank = hello["rank"]
        self._members[member.rank] = member
        if len(self._members) == self._world_size:
            for each in self._members.values():
                each.heard = time.monotonic()
            self._tell_all(pack(Kind.WELCOME))

    def _objection(self, hello: Any) -> str | None:
        rank, world_size, version = hello["rank"], hello["world_size"], hello["version"]
        if world_size != self._world_size:
            return f"it was started for a world of {world_size} ranks, rank 0 for {self._world_size}"
        if not 0 <= rank < self._world_size:
            return f"rank {rank} is not in a world of {self._world_size} ranks"
        if rank in self._members:
            return f"rank {rank} has joined already: were two processes given the same RANK?"
        if version != self._version:
            return f"it runs railgauge {version}, rank 0 runs {self._version}"
        return None

    # Serving ----------------------------------------------------------------------------------------------------

    def _read(self, member: Member) -> None:
        try:
            frames = receive(member.sock, member.reader)
        except (ValueError, KeyError):
            frames = None  # a stranger
        if frames is None:
            self._gone(member)
            return
        member.heard = time.monotonic()
        for kind, number, payload in frames:
            if member.rank < 0 and kind is not Kind.HELLO:
                self._drop(member)
                return
            self._take(member, kind, number, payload)

    def _take(self, member: Member, kind: Kind, number: int, payload: Any) -> None:
        if kind is Kind.HELLO:
            try:
                self._hello(member, payload)
            except (KeyError, TypeError):
                self._drop(member)  # a stranger
        elif kind is Kind.GATHER:
            self._gather(number, member.rank, payload["value"], payload["limit_s"])
        elif kind is Kind.FAIL and self._first_failure is None:
            self._first_failure = (member.rank, payload, time.monotonic())
            self._states = {member.rank: tuple(payload["waits"])}
            if payload["waits"][0] >= 0:
                self._tell_all(pack(Kind.QUERY))
            else:
                self._abort(f"rank {member.rank}: {payload['message']}", -1)
        elif kind is Kind.STATE:
            self._states.setdefault(member.rank, tuple(payload))
        elif kind is Kind.BYE:
            self._leave(member)

    def _gather(self, number: int, rank: int, value: Any, limit_s: float) -> None:
        gather = self._gathers.setdefault(number, Gather({}, time.monotonic() + limit_s))
        gather.values[rank] = value
        if len(gather.values) == self._world_size:
            del self._gathers[number]
            self._tell_all(pack(Kind.RESULT, number, [gather.values[r] for r in range(self._world_size)]))

    def _leave(self, member: Member) -> None:
        member.left = True
        self._send(member, pack(Kind.BYE))
        self._over = all(m.left for m in self._members.values())

    # Failing ----------------------------------------------------------------------------------------------------

    def _gone(self, member: Member) -> None:
        self._drop(member)
        if member.rank >= 0 and not member.left:
            if self._first_failure is not None:
                return  # its answer will be missing, which is what tells
            self._abort(f"rank {member.rank} is gone: its process ended or its host cannot be reached", member.rank)

    def _look_at_clocks(self) -> None:
        now = time.monotonic()
        if self._over:
            return
        if now >= self._next_beat:
            self._next_beat = now + self._beat_s
            self._tell_all(pack(Kind.BEAT))
        if len(self._members) < self._world_size:
            if now - self._started > self._timeout_s:
                missing = [rank for rank in range(self._world_size) if rank not in self._members]
                names = ", ".join(map(str, missing))
                self._abort(f"rank {names} did not join within {self._timeout_s:g} s", missing[0])
            return
        if self._first_failure is not None:
            self._blame(now)
            return
        for member in self._members.values():
            if not member.left and now - member.heard > self._timeout_s * SILENT_SHARE:
                self._abort(f"rank {member.rank} stopped answering {now - member.heard:.1f} s ago", member.rank)
                return
        for gather in self._gathers.values():
            if now > gather.deadline:
                late = [rank for rank in range(self._world_size) if rank not in gather.values]
                names = ", ".join(map(str, late))
                self._abort(f"rank {names} did not come to an exchange that the others wait in", late[0])
                return

    def _blame(self, now: float) -> None:
        """End the run once it is known whom the rank that gave up was waiting for, in the end."""
        assert self._first_failure is not None
        rank, failure, at = self._first_failure
        if len(self._states) < self._world_size and now - at < STATES_WITHIN_S:
            return
        guilty = blame(self._states, rank)
        verdict = "did not take part" if guilty in self._states else "stopped answering"
        self._abort(f"rank {guilty} {verdict}: rank {rank}: {failure['message']}", guilty)

    def _abort(self, message: str, rank: int) -> None:
        self._tell_all(pack(Kind.ABORT, 0, {"message": message, "rank": rank}))
        self._over = True

    def _tell_all(self, frame: bytes) -> None:
        for member in list(self._members.values()):
            self._send(member, frame)

    def _send(self, member: Member, frame: bytes) -> None:
        # What was cut off in the middle cannot be gone on with; the end of the stream tells the rank.
        try:
            member.sock.sendall(frame)
        except OSError:
            with contextlib.suppress(OSError):
                member.sock.shutdown(socket.SHUT_RDWR)

    def _drop(self, member: Member) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(member.sock)
        member.sock.close()


def beat_interval(timeout_s: float) -> float:
    """Seconds between two signs of life."""
    return min(1.0, timeout_s / BEATS_PER_TIMEOUT)


def blame(states: dict[int, Waits], start: int) -> int:
    """Follow who waits for whom from `start` to the rank at fault: one that waits for nobody, or is silent.

    `states` maps each rank that answered to what it waits for. In a circle the one at fault waits for a free slot of
    a rank that waits for its data; without such a one it is `start`'s own neighbour.
    """
    seen = [start]
    rank = states[start][0]
    while rank not in seen and states.get(rank, NOBODY)[0] >= 0:
        seen.append(rank)
        rank = states[rank][0]
    if rank not in seen:
        return rank
    for one in seen:
        other, wants_slot = states[one]
        if wants_slot and states.get(other, NOBODY) == (one, False):
            return one
    return states[start][0]


def _reachable(listener: socket.socket) -> tuple[str, int]:
    """The address under which rank 0 itself reaches its listener."""
    host, port = listener.getsockname()[:2]
    return ({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)
