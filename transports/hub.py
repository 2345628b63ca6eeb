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
from collections.abc import Callable, Iterable
from typing import Any

from railgauge.topo.errors import AuthenticationError, described
from railgauge.topo.values.printable import one_line
from railgauge.transports import tcp
from railgauge.transports.beat import SILENT_SHARE, beat_interval
from railgauge.transports.exchanges import Exchange, Exchanges
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
from railgauge.transports.hub_connections import TICK_S, HubConnections
from railgauge.transports.joining import came_twice, objection
from railgauge.transports.member import Member
from railgauge.transports.picture import RankStates
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.standing import Standing
from railgauge.transports.vain_waits import VainWaits

NEWS_BEATS = 3
"""How many beats apart ranks that wait for others to join are sent the list of missing ranks."""
LAST_WORDS_SHARE, MOST_LAST_WORDS_S = 0.05, 2.0
"""How long the ranks have to receive the final report, and late ranks to receive it too: this share of the timeout, but
at most END_S."""
STATES_WITHIN_S = 1.0
"""How long ranks have to report their state when one gave up waiting; when the reason is known, no longer than for the
final report."""
MOST_TOLD = 4
"""How many rejected connections the message about missing ranks lists."""
SALT_BYTES = 16
NO_HELLO = "it sent other data before it said which rank it is"


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
        self._world_size = world_size
        self._timeout_s = timeout_s
        self._version = version
        self._refused_elsewhere = refused_elsewhere
        self._is_open = is_open
        self._started = time.monotonic()
        self._connections = HubConnections(listener, world_size, secret)
        self._members: dict[int, Member] = {}
        self._welcomed = False
        self._last_heard = ""
        self._exchanges = Exchanges(world_size)
        self._left: set[int] = set()
        self._vain_waits = VainWaits()
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
        self._connections.listen()
        self._thread.start()

    def forked(self) -> None:
        """Become a forked copy: close this process's descriptors, and leave the connections alone."""
        self._connections.forked()

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
            self._connections.close()

    def _serve_ranks(self) -> None:
        try:
            while not self._stop.is_set() and not self._over:
                self._turn()
                self._look_at_clocks()
        except Exception as error:
            self.error = error
            self._abort(f"rank 0's process failed: {described(error)}", 0)

    def _turn(self) -> None:
        for member, events in self._connections.events():
            if events & selectors.EVENT_WRITE:
                member.flush()
                self._connections.watch_for_writing(member)
            if events & selectors.EVENT_READ:
                self._read(member)

    def _hello(self, member: Member, hello: Hello) -> None:
        rank, host = hello.rank, one_line(hello.host)
        member.host, member.pid = host, hello.pid
        if problem := objection(hello, self._world_size, self._version):
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
        self._connections.refuse(f"rank {rank} on {member.host}", problem)
        self._connections.send(member, pack(FrameKind.REFUSED, payload=problem))
        self._end_when_sent(member)
        self._told.add(member)

    def _came_twice(self, rank: int, first: Member, second: Member) -> None:
        """Which of them is of this job nobody can tell, nor whose the other ranks are; unless all are there and have
        proved a secret.
        """
        problem = came_twice(rank, first, second)
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

    def _read(self, member: Member) -> None:
        try:
            frames = member.receive()
            self._connections.note_proof(member)
            for kind, number, payload in frames:
                if (kind is FrameKind.HELLO) != (member.rank < 0):
                    raise ValueError(f"unexpected {kind.name} frame")
                self._take(member, kind, number, payload)
        except AuthenticationError as error:
            self._connections.refuse(member.address, str(error))
            self._connections.drop(member)
        except ValueError:
            if member.rank < 0:
                self._connections.refuse(member.address, NO_HELLO)
            self._gone(member, "sent invalid data")
        except OSError:
            self._gone(member, "is gone: its process ended or its host cannot be reached")
        else:
            self._connections.watch_for_writing(member)

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
        exchange = self._exchanges.enter(number, rank, given)
        held = self._exchanges.size
        if held + GROUP.size + LENGTH.size * self._world_size > MAX_PAYLOAD:
            self._abort(f"an exchange of more than {held} bytes: the limit is {MAX_PAYLOAD}", -1)
        elif exchange.missing:
            self._look_for_those_who_left(exchange)
        else:
            self._exchanges.end(number, given.group)
            result = pack_result(number, [exchange.values[r] for r in exchange.members], given.group)
            for each in exchange.members:
                self._connections.send(self._members[each], result)

    def _look_for_those_who_left(self, exchange: Exchange) -> None:
        """Fail an exchange that waits for a rank that has left."""
        if gone := self._left.intersection(exchange.missing):
            rank = min(gone)
            left = f"rank {rank} on {self._members[rank].host} left while others wait for it in an exchange"
            self._fail(left, late=rank)

    def _leave(self, member: Member) -> None:
        self._left.add(member.rank)
        self._vain_waits.begin(time.monotonic())
        self._connections.send(member, pack(FrameKind.BYE))
        for exchange in self._exchanges:
            self._look_for_those_who_left(exchange)
        if self._welcomed and len(self._left) == self._world_size:
            self._over = True

    def _gone(self, member: Member, how: str) -> None:
        self._connections.drop(member)
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
        self._connections.drop_late(now, self._told)
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
        refused = [*self._connections.refused, *self._refused_elsewhere()][:MOST_TOLD]
        also = f"; refused: {'; '.join(refused)}" if refused else ""
        return f"{names} of {self._world_size}; last heard from {self._last_heard or 'nobody'}{also}"

    def _excuse(self, late_s: float) -> None:
        """The hub itself was not scheduled for this long, and perhaps nobody was: do not count it against any rank."""
        for member in self._members.values():
            member.heard += late_s
        self._exchanges.excuse(late_s)

    def _look_for_the_late(self, now: float) -> None:
        for member in self._members.values():
            if member.rank not in self._left and now - member.heard > self._timeout_s * SILENT_SHARE:
                silent = f"{now - member.heard:.1f} s ago"
                self._fail(f"rank {member.rank} on {member.host} stopped answering {silent}", late=member.rank)
                return
        for exchange in self._exchanges:
            if now > exchange.deadline:
                late = exchange.missing
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
        asked = {rank for rank, member in self._members.items() if member in self._connections.open} - self._left
        limit_s = STATES_WITHIN_S if failure.waits[0] >= 0 else min(STATES_WITHIN_S, self._last_words_s)
        if asked <= self.standings.keys() or now - failure.at >= limit_s:
            self._end(judge(failure, RankStates(self.standings, self._left, self._exchanges.ranks)))

    def _abort(self, message: str, rank: int) -> None:
        self._end(FailureVerdict(message=message, rank=rank))

    def _end(self, verdict: FailureVerdict) -> None:
        if not self._over:
            self._over = True
            self._verdict = pack(FrameKind.ABORT, payload=verdict)

    def _say_last_words(self) -> None:
        """Let all ranks receive the report. Closing with bytes unread would discard it (RFC 1122, 4.2.2.13)."""
        deadline = time.monotonic() + self._last_words_s
        for member in self._connections.open:
            self._tell_verdict(member)
        while self._has_listeners() and time.monotonic() < deadline and not self._stop.is_set():
            for member, events in self._connections.events():
                self._part(member, events)

    def _has_listeners(self) -> bool:
        late = not self._welcomed and len(self._told) < self._world_size
        return late or any(member.proved for member in self._connections.open)

    def _part(self, member: Member, events: int) -> None:
        with contextlib.suppress(ValueError, AuthenticationError):
            try:
                if events & selectors.EVENT_WRITE:
                    member.flush()
                if events & selectors.EVENT_READ:
                    member.receive()
                self._tell_verdict(member)
            except OSError:
                self._connections.drop(member)

    def _tell_verdict(self, member: Member) -> None:
        if self._verdict and member.proved and member not in self._told:
            self._told.add(member)
            member.send(self._verdict)
        if member.proved:
            self._end_when_sent(member)
        self._connections.watch_for_writing(member)

    def _end_when_sent(self, member: Member) -> None:
        if not member.has_unsent:
            member.end_sending()

    def _tell_all(self, frame: bytes) -> None:
        for member in self._members.values():
            self._connections.send(member, frame)
