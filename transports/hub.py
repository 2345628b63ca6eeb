# SPDX-License-Identifier: Apache-2.0
"""The hub of the bootstrap's star: a thread of process 0 that joins the ranks, forwards what they gather, and decides
which rank ended a run.

It never blocks on a rank: what one is slow to take waits in that rank's buffer (member.py). Connections that do not
authenticate are limited to IDENTIFY_S and a few bytes.
"""

import contextlib
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.errors import AuthenticationError, described
from railgauge.topo.values.printable import one_line
from railgauge.transports import tcp
from railgauge.transports.complaints import Complaints
from railgauge.transports.failure import Failure, FailureVerdict, judge
from railgauge.transports.forked import leave_to_parent
from railgauge.transports.frame import (
    GROUP,
    LENGTH,
    MAX_PAYLOAD,
    Contribution,
    FrameKind,
    GivenUp,
    Hello,
    Welcome,
    pack,
    pack_result,
    split_contribution,
)
from railgauge.transports.member import Member
from railgauge.transports.pending_connections import PendingConnections
from railgauge.transports.picture import RankStates
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.standing import Standing
from railgauge.transports.vain_waits import VainWaits

TICK_S = 0.05
BEATS_PER_TIMEOUT = 10
NEWS_BEATS = 3
"""How many beats apart ranks that wait for others to join are sent the list of missing ranks."""
SILENT_SHARE = 0.6
"""The other end is lost after this share of the timeout without a beat: before the waits on it reach theirs."""
SILENT_BEATS = 6
"""At least this many of the hub's beats."""
LAST_WORDS_SHARE, MOST_LAST_WORDS_S = 0.05, 2.0
"""How long the ranks have to receive the final report, and late ranks to receive it too: this share of the timeout, but
at most END_S."""
STATES_WITHIN_S = 1.0
"""How long ranks have to report their state when one gave up waiting; when the reason is known, no longer than for the
final report."""
IDENTIFY_S = 10.0
MOST_PENDING = 1024
"""How many unauthenticated connections may be open, beyond one for each rank."""
ACCEPTED_AT_ONCE = 128
"""How many connections are accepted before those that are there are read."""
MOST_TOLD = 4
"""How many rejected connections the message about missing ranks lists."""
SALT_BYTES = 16
MOST_OPEN = 1024
"""How many exchanges a rank may have entered before the others of their groups have; one for each group and thread."""


@dataclass(slots=True)
class Gather:
    """An all-gather that not all ranks of its group have entered yet."""

    deadline: float
    members: Sequence[int]
    values: dict[int, bytes] = field(default_factory=dict)
    size: int = 0
    """Size of all values together, in bytes."""


class Hub:
    """Joins `world_size` ranks on a listening socket and handles their exchanges until all have left or one fails."""

    def __init__(
        self,
        listener: socket.socket,
        world_size: int,
        timeout_s: float,
        version: str,
        secret: bytes = b"",
        refused_elsewhere: Callable[[], Iterable[str]] = tuple,
        *,
        is_open: bool = False,
    ) -> None:
        """`refused_elsewhere` lists connections that the store rejected; `is_open`: the job has no secret,
        so that ranks of another job may come.
        """
        self._listener = listener
        self._world_size = world_size
        self._timeout_s = timeout_s
        self._version = version
        self._secret = secret
        self._refused_elsewhere = refused_elsewhere
        self._is_open = is_open
        self._started = time.monotonic()
        self._connected: set[Member] = set()
        self._pending: PendingConnections[Member] = PendingConnections(world_size + MOST_PENDING)
        self._members: dict[int, Member] = {}
        self._welcomed = False
        self._last_heard = ""
        self._complaints = Complaints(__name__)
        self._gathers: dict[tuple[int, int], Gather] = {}
        """By the group's name and the number within it."""
        self._left: set[int] = set()
        self._vain_waits = VainWaits()
        self._selector = selectors.DefaultSelector()
        self._beat_s = beat_interval(timeout_s)
        self._last_words_s = min(timeout_s * LAST_WORDS_SHARE, MOST_LAST_WORDS_S)
        self._next_look = self._next_beat = self._started
        self._next_news = self._started + self._beat_s
        self._failure: Failure | None = None
        self.standings: dict[int, list[Standing]] = {}
        """The state of each rank that could still be reached when the run failed."""
        self.error: Exception | None = None
        """What ended the hub itself: its process has no memory left, or it is wrong."""
        self._reason_to_end = ""
        self._verdict = b""
        self._told: set[Member] = set()
        self._over = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="bootstrap-hub", daemon=True)
        leave_to_parent(self)

    def start(self) -> None:
        """Start accepting ranks; RuntimeError if the system gives no thread."""
        tcp.allow_many_files()
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._thread.start()

    def forked(self) -> None:
        """Become a forked copy: close this process's descriptors, and leave the connections alone."""
        self._listener.close()
        for member in tuple(self._connected):
            member.sock.close()

    def end(self, reason: str) -> None:
        """End the run on all ranks; for other threads."""
        self._reason_to_end = reason

    def finish(self) -> None:
        """Wait until all ranks have left, or the timeout has passed, and end."""
        self._join()
        self.stop()

    def stop(self) -> None:
        """End at once."""
        self._stop.set()
        self._join()

    def _join(self) -> None:
        if threading.current_thread() is not self._thread:  # a rendezvous may be closed by the garbage collector
            self._thread.join(self._timeout_s)

    def _serve(self) -> None:
        try:
            self._serve_ranks()
            self._say_last_words()
        except MemoryError as error:
            self.error = self.error or error
        finally:
            for member in self._connected:
                member.sock.close()
            self._listener.close()
            self._selector.close()

    def _serve_ranks(self) -> None:
        try:
            while not self._stop.is_set() and not self._over:
                self._turn()
                self._look_at_clocks()
        except Exception as error:
            self.error = error
            self._abort(f"rank 0's process failed: {described(error)}", 0)

    def _turn(self) -> None:
        for key, events in self._selector.select(TICK_S):
            member: Member | None = key.data
            if member is None:
                self._accept()
            elif events & selectors.EVENT_WRITE:
                member.flush()
                self._watch_for_writing(member)
            if member and events & selectors.EVENT_READ:
                self._read(member)

    # Joining ----------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            for _ in range(ACCEPTED_AT_ONCE):
                sock, _address = self._listener.accept()
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                member = Member(sock, self._secret)
                self._connected.add(member)
                self._pending.add(member, member.address)
                self._selector.register(sock, selectors.EVENT_READ, member)
                self._drop_surplus()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in tcp.OUT_OF_FILES:
                self._pending.leave_files()
                self._drop_surplus()
            time.sleep(TICK_S)  # some may leave

    def _drop_surplus(self) -> None:
        for member in self._pending.surplus():
            self._refuse(member.address, "it had not authenticated when the limit of open connections was reached")
            self._drop(member)

    def _hello(self, member: Member, hello: Hello) -> None:
        rank, host = hello.rank, one_line(hello.host)
        member.host, member.pid = host, hello.pid
        if problem := self._objection(hello):
            self._send_away(member, rank, problem)
            if not self._welcomed:  # it is one of this job, so the job cannot become complete
                self._abort(f"rank {rank} on {host} cannot join: {problem}", -1)
            return
        if other := self._members.get(rank):
            self._came_twice(rank, other, member)
            return
        member.rank = rank
        member.reader.limit = MAX_PAYLOAD
        self._last_heard = host
        self._members[rank] = member
        if len(self._members) == self._world_size:
            self._welcome()

    def _send_away(self, member: Member, rank: int, problem: str) -> None:
        self._refuse(f"rank {rank} on {member.host}", problem)
        self._send(member, pack(FrameKind.REFUSED, payload=problem))
        self._end_when_sent(member)
        self._told.add(member)

    def _came_twice(self, rank: int, first: Member, second: Member) -> None:
        """Which of them is of this job nobody can tell, nor whose the other ranks are; unless all are there and have
        proved a secret.
        """
        problem = (
            f"two processes came as rank {rank}: {first} and {second}: were both given this RANK, or have two jobs one "
            f"MASTER_ADDR and MASTER_PORT? Give each job a port of its own, or a secret (RAILGAUGE_SECRET)"
        )
        if self._welcomed and not self._is_open:
            self._send_away(second, rank, problem)
        else:
            self._end(FailureVerdict(message=problem, mismatch=True))

    def _welcome(self) -> None:
        self._welcomed = True
        for each in self._members.values():
            each.heard = time.monotonic()
        self._tell_all(
            pack(FrameKind.WELCOME, payload=Welcome(salt=secrets.token_hex(SALT_BYTES), beat_s=self._beat_s))
        )

    def _objection(self, hello: Hello) -> str | None:
        rank, world_size, version = hello.rank, hello.world_size, one_line(hello.version)
        if world_size != self._world_size:
            return f"it was started with world size {world_size}, rank 0 with {self._world_size}"
        if not 0 <= rank < self._world_size:
            return f"rank {rank} is out of range for world size {self._world_size}"
        if version != self._version:
            return f"it runs railgauge {version}, rank 0 runs {self._version}: install the same version on all hosts"
        return None

    # Serving ----------------------------------------------------------------------------------------------------

    def _read(self, member: Member) -> None:
        try:
            frames = member.receive()
            if member.proved:
                self._pending.remove(member, member.address)
            for kind, number, payload in frames:
                if (kind is FrameKind.HELLO) != (member.rank < 0):
                    raise ValueError(f"unexpected {kind.name} frame")
                self._take(member, kind, number, payload)
        except AuthenticationError as error:
            self._refuse(member.address, str(error))
            self._drop(member)
        except ValueError:
            self._gone(member, "sent invalid data")
        except OSError:
            self._gone(member, "is gone: its process ended or its host cannot be reached")
        else:
            self._watch_for_writing(member)

    def _take(self, member: Member, kind: FrameKind, number: int, payload: Any) -> None:
        if kind is FrameKind.HELLO:
            self._hello(member, payload)
        elif kind is FrameKind.GATHER:
            self._gather(number, member.rank, split_contribution(payload))
        elif kind is FrameKind.FAIL:
            given_up: GivenUp = payload
            message = one_line(given_up.message)
            self._fail(message, rank=member.rank, waits=given_up.waits, mismatch=given_up.mismatch)
        elif kind is FrameKind.STATE:
            self.standings[member.rank] = payload
        elif kind is FrameKind.BYE:
            self._leave(member)

    def _gather(self, number: int, rank: int, given: Contribution) -> None:
        key, members = (given.group, number), given.members or range(self._world_size)
        if sum(rank in each.values for each in self._gathers.values()) >= MOST_OPEN:
            raise ValueError("more concurrent exchanges than a rank has groups")
        gather = self._gathers.get(key) or self._begin_gather(key, time.monotonic() + given.limit_s, members)
        if rank in gather.values or rank not in members or members != gather.members:
            raise ValueError("a duplicate contribution, or one to a group that it is not in")
        gather.values[rank] = given.value
        gather.size += len(given.value)
        held = sum(each.size for each in self._gathers.values())
        if held + GROUP.size + LENGTH.size * self._world_size > MAX_PAYLOAD:
            self._abort(f"an exchange of more than {held} bytes: the limit is {MAX_PAYLOAD}", -1)
        elif len(gather.values) == len(members):
            del self._gathers[key]
            result = pack_result(number, [gather.values[r] for r in members], given.group)
            for each in members:
                self._send(self._members[each], result)
        else:
            self._look_for_those_who_left(gather)

    def _begin_gather(self, key: tuple[int, int], deadline: float, members: Sequence[int]) -> Gather:
        if len(set(members)) != len(members) or max(members) >= self._world_size:
            raise ValueError("a group of ranks that do not exist")
        return self._gathers.setdefault(key, Gather(deadline, members))

    def _look_for_those_who_left(self, gather: Gather) -> None:
        """Fail the exchanges that wait for a rank that has left."""
        if gone := self._left & set(gather.members) - gather.values.keys():
            rank = min(gone)
            left = f"rank {rank} on {self._members[rank].host} left while others wait for it in an exchange"
            self._fail(left, late=rank)

    def _leave(self, member: Member) -> None:
        self._left.add(member.rank)
        self._vain_waits.begin(time.monotonic())
        self._send(member, pack(FrameKind.BYE))
        for gather in self._gathers.values():
            self._look_for_those_who_left(gather)
        if self._welcomed and len(self._left) == self._world_size:
            self._over = True

    # Failing ----------------------------------------------------------------------------------------------------

    def _gone(self, member: Member, how: str) -> None:
        self._drop(member)
        if (
            member.rank >= 0 and member.rank not in self._left
        ):  # else a connection that did not join, or an end that was planned
            self._fail(f"rank {member.rank} on {member.host} {how}", late=member.rank)

    def _fail(self, message: str, **noticed: Any) -> None:
        """Record the first failure, and query the ranks' states; before all have joined, end the run."""
        if self._failure:
            return  # a rank that is lost by now does not answer, which is how it is found
        self._failure = Failure(message=message, at=time.monotonic(), **noticed)
        self.standings.clear()  # from an earlier query
        if self._welcomed:
            self._tell_all(pack(FrameKind.QUERY))
        else:
            self._end(judge(self._failure, RankStates({})))

    def _look_at_clocks(self) -> None:
        now = time.monotonic()
        if self._over or now < self._next_look:
            return
        if (late_s := now - self._next_look) > self._beat_s:
            self._excuse(late_s)
        self._next_look = now + TICK_S
        if now >= self._next_beat:
            self._next_beat = now + self._beat_s
            if self._welcomed:
                self._tell_all(pack(FrameKind.BEAT))
        if not self._welcomed and now >= self._next_news:
            self._next_news = now + NEWS_BEATS * self._beat_s
            self._tell_all(pack(FrameKind.WAITING, payload=self._missing()))
        self._drop_unidentified(now)
        if self._failure:
            self._conclude(self._failure, now)
        elif self._reason_to_end:
            self._fail(self._reason_to_end)
        elif not self._welcomed:
            if now - self._started > self._timeout_s:
                first = next(rank for rank in range(self._world_size) if rank not in self._members)
                self._abort(f"waited {self._timeout_s:g} s for {self._missing()}", first)
        else:
            self._look_for_the_late(now)
            self._look_for_vain_waits(now)

    def _missing(self) -> str:
        names = name_ranks(rank for rank in range(self._world_size) if rank not in self._members)
        refused = [*self._complaints.refused, *self._refused_elsewhere()][:MOST_TOLD]
        also = f"; refused: {'; '.join(refused)}" if refused else ""
        return f"{names} of {self._world_size}; last heard from {self._last_heard or 'nobody'}{also}"

    def _drop_unidentified(self, now: float) -> None:
        for member in [m for m in self._connected if m.rank < 0 and now - m.opened > IDENTIFY_S]:
            if member not in self._told:
                self._refuse(member.address, f"it did not identify itself within {IDENTIFY_S:g} s")
            self._drop(member)

    def _excuse(self, late_s: float) -> None:
        """The hub itself was not scheduled for this long, and perhaps nobody was: do not count it against any rank."""
        for member in self._members.values():
            member.heard += late_s
        for gather in self._gathers.values():
            gather.deadline += late_s

    def _look_for_the_late(self, now: float) -> None:
        for member in self._members.values():
            if member.rank not in self._left and now - member.heard > self._timeout_s * SILENT_SHARE:
                silent = f"{now - member.heard:.1f} s ago"
                self._fail(f"rank {member.rank} on {member.host} stopped answering {silent}", late=member.rank)
                return
        for gather in self._gathers.values():
            if now > gather.deadline:
                late = [rank for rank in gather.members if rank not in gather.values]
                self._fail(f"{name_ranks(late)} did not enter an exchange that the others wait in", late=late[0])
                return

    def _look_for_vain_waits(self, now: float) -> None:
        if self._failure or not self._vain_waits.is_due(now):
            return
        gone = self._vain_waits.look(self.standings, self._left)
        if gone is not None:
            self._fail(f"rank {gone} on {self._members[gone].host} left while others wait for it", late=gone)
            return
        self.standings.clear()
        self._tell_all(pack(FrameKind.QUERY))

    def _conclude(self, failure: Failure, now: float) -> None:
        """End the run once all reachable ranks have reported their state."""
        asked = {rank for rank, member in self._members.items() if member in self._connected} - self._left
        limit_s = STATES_WITHIN_S if failure.waits[0] >= 0 else min(STATES_WITHIN_S, self._last_words_s)
        if asked <= self.standings.keys() or now - failure.at >= limit_s:
            exchanging = {rank for gather in self._gathers.values() for rank in gather.values}
            self._end(judge(failure, RankStates(self.standings, self._left, exchanging)))

    def _abort(self, message: str, rank: int) -> None:
        self._end(FailureVerdict(message=message, rank=rank))

    def _end(self, verdict: FailureVerdict) -> None:
        if not self._over:
            self._over = True
            self._verdict = pack(FrameKind.ABORT, payload=verdict)

    def _say_last_words(self) -> None:
        """Let all ranks receive the report. Closing with bytes unread would discard it (RFC 1122, 4.2.2.13)."""
        deadline = time.monotonic() + self._last_words_s
        for member in self._connected:
            self._tell_verdict(member)
        while self._has_listeners() and time.monotonic() < deadline and not self._stop.is_set():
            for key, events in self._selector.select(TICK_S):
                if key.data is None:
                    self._accept()
                else:
                    self._part(key.data, events)

    def _has_listeners(self) -> bool:
        late = not self._welcomed and len(self._told) < self._world_size
        return late or any(member.proved for member in self._connected)

    def _part(self, member: Member, events: int) -> None:
        with contextlib.suppress(ValueError, AuthenticationError):
            try:
                if events & selectors.EVENT_WRITE:
                    member.flush()
                if events & selectors.EVENT_READ:
                    member.receive()
                self._tell_verdict(member)
            except OSError:
                self._drop(member)

    def _tell_verdict(self, member: Member) -> None:
        if self._verdict and member.proved and member not in self._told:
            self._told.add(member)
            member.send(self._verdict)
        if member.proved:
            self._end_when_sent(member)
        self._watch_for_writing(member)

    def _end_when_sent(self, member: Member) -> None:
        if not member.has_unsent:
            member.end_sending()

    # Sending ----------------------------------------------------------------------------------------------------

    def _tell_all(self, frame: bytes) -> None:
        for member in self._members.values():
            self._send(member, frame)

    def _send(self, member: Member, frame: bytes) -> None:
        member.send(frame)
        self._watch_for_writing(member)

    def _watch_for_writing(self, member: Member) -> None:
        if member.has_unsent != member.watched_for_writing and member in self._connected:
            member.watched_for_writing = member.has_unsent
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if member.has_unsent else 0)
            self._selector.modify(member.sock, events, member)

    def _drop(self, member: Member) -> None:
        if member in self._connected:
            self._connected.remove(member)
            self._pending.remove(member, member.address)
            self._selector.unregister(member.sock)
            member.sock.close()

    def _refuse(self, who: str, why: str) -> None:
        self._complaints.refuse("bootstrap: rejected", who, why)


def beat_interval(timeout_s: float) -> float:
    """Seconds between two beats."""
    return min(1.0, timeout_s / BEATS_PER_TIMEOUT)
