# SPDX-License-Identifier: Apache-2.0
"""The bootstrap: ranks exchange facts over TCP, and watch each other until the run ends.

Process 0 runs the hub of a star (hub.py); every rank, rank 0 too, is a member with one connection, which rendezvous.py
makes. A thread of each member answers the hub and beats, also while the rank itself is busy in native code, so that a
rank that died (its connection ends) is distinguished from one that hangs (no beats) and from one that waits for
another.
"""

import contextlib
import hmac
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge._native.transports import keep
from railgauge.topo.errors import MismatchError, PeerLostError, RunError, UsageError
from railgauge.topo.values.printable import one_line
from railgauge.transports.beat import SILENT_BEATS, SILENT_SHARE, beat_interval
from railgauge.transports.blame import NOBODY, Waits
from railgauge.transports.failure import FailureVerdict
from railgauge.transports.forked import leave_to_parent
from railgauge.transports.frame import (
    FROM_HUB,
    Contribution,
    Frame,
    FrameKind,
    FrameReader,
    GivenUp,
    Hello,
    group_of_result,
    pack,
    pack_contribution,
    receive,
    split_result,
)
from railgauge.transports.group import WORLD, Group
from railgauge.transports.standing import Standing

AFTER_FAILURE_S = 5.0
"""How long a rank that gave up waits for the hub's verdict, in seconds."""
HUB_FIRST_S = 2.0
"""How much later than the hub a rank gives up by itself: the hub knows who is missing."""
LOOK_S = 1.0
"""How often rank 0 checks for failures while it waits for the others to join."""


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """What a rank does in one communicator, as seen by other threads."""

    standing: Callable[[], Standing]
    """Its last operations there, and which rank it waits for."""
    abort: Callable[[], None]
    """Ends its waiting; any thread may call it."""


class Bootstrap(Group):
    """One rank's membership in a job: exchanges among all ranks, and news of failures."""

    def __init__(
        self,
        rank: int,
        world_size: int,
        sock: socket.socket,
        timeout_s: float,
        hub_error: Callable[[], Exception | None] = lambda: None,
    ) -> None:
        """`hub_error` gives what ended the hub itself, where that is in this process."""
        super().__init__(self, range(world_size), rank, WORLD)
        self.timeout_s = timeout_s
        self.session = b""
        """The key of this run's data connections, the same on all ranks."""
        self.failure: Exception | None = None
        """What ended the run: a RunError, or what this process's own hub or watch ended with."""
        self._hub_error = hub_error
        self._watches: list[Watch] = []
        self._sock = sock
        self._reader = FrameReader(FROM_HUB)
        self._results: dict[int, queue.SimpleQueue[tuple[int, bytes]]] = {}
        """By the name of the group that waits for them."""
        self._missing = ""
        self._beat_s = beat_interval(timeout_s)
        """The hub's timeout, which may differ from this rank's: beats and lost connections are timed by it."""
        self._patience_s = timeout_s
        self._sending = threading.Lock()
        self._failed = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"bootstrap-{rank}", daemon=True)
        self.is_copy = False
        """Whether this process was forked from the one that joined: it is not part of the run."""
        leave_to_parent(self)

    def join(
        self, version: str, host: str, secret: bytes, *, deadline: float, look_around: Callable[[], None] | None
    ) -> None:
        """Join, and wait until all ranks have; `look_around` is called periodically meanwhile.

        Raises:
            PeerLostError: some ranks did not join by the deadline (time.monotonic()); the message names them.
            UsageError: the hub refuses this rank (another world size or version).
            MismatchError: two processes came as one rank. RunError: another rank cannot join.
        """
        hello = Hello(rank=self.rank, world_size=self.world_size, version=version, host=host, pid=os.getpid())
        self._send(pack(FrameKind.HELLO, payload=hello))
        began = time.monotonic()
        while (left := deadline + HUB_FIRST_S - time.monotonic()) > 0:
            for kind, number, payload in self._expect_frames(min(left, LOOK_S) if look_around else left):
                if kind is FrameKind.REFUSED:
                    raise UsageError(f"this rank cannot join: {one_line(payload)}")
                if kind is FrameKind.WELCOME:
                    self.session = hmac.digest(secret, b"session" + payload.salt.encode(), "sha256")
                    self._beat_s = payload.beat_s
                self._take(kind, number, payload)
            if self.failure:
                raise self.failure
            if self.session:
                return self._thread.start()
            if look_around:
                look_around()
        problem = f"waited {time.monotonic() - began:.0f} s for {self._missing or 'a welcome from rank 0'}"
        self.fail(problem)
        raise PeerLostError(problem)

    def exchange(
        self, group: int, number: int, members: Sequence[int], value: bytes, limit_s: float | None
    ) -> list[bytes]:
        """Take part in the `number`-th all-gather of a group (`Group.all_gather_bytes`); () is all ranks."""
        limit = limit_s or self.timeout_s
        results = self._results.setdefault(group, queue.SimpleQueue())
        self._send(pack_contribution(number, Contribution(limit, group, tuple(members), value)))
        deadline = time.monotonic() + limit + HUB_FIRST_S
        while (left := deadline - time.monotonic()) > 0 and not self._failed.is_set():
            with contextlib.suppress(queue.Empty):
                told, result = results.get(timeout=left)
                if told == number:
                    return split_result(result, len(members) or self.world_size)
        raise self.wait_for_failure(PeerLostError("no answer from rank 0", 0))

    def forget(self, group: int) -> None:
        """No exchange of that group will come any more."""
        self._results.pop(group, None)

    def attend(self, watch: Watch) -> None:
        """From now on query `watch` for this rank's state, and abort it when the run fails."""
        self._watches.append(watch)
        if self.failure:
            watch.abort()

    def dismiss(self, watch: Watch) -> None:
        """Stop watching it; may be called twice."""
        with contextlib.suppress(ValueError):
            self._watches.remove(watch)

    def abort(self) -> None:
        """End this rank's waits, in everything that it has `attend`ed."""
        for watch in tuple(self._watches):
            watch.abort()

    def standings(self) -> list[Standing]:
        """Where this rank stands in each communicator; for any thread."""
        return [watch.standing() for watch in tuple(self._watches)]

    def fail(self, message: str, waits: Waits = NOBODY, *, mismatch: bool = False) -> None:
        """Report to all ranks that this one cannot go on: what it waited for, or that it received another operation's
        data.
        """
        self._patience_s = min(self.timeout_s, AFTER_FAILURE_S)
        self._send(pack(FrameKind.FAIL, payload=GivenUp(message=message, waits=waits, mismatch=mismatch)))

    def wait_for_failure(self, otherwise: RunError, limit_s: float = AFTER_FAILURE_S) -> Exception:
        """Return what ended the run, once it is known; `otherwise` when no report arrives in time."""
        self._failed.wait(limit_s)
        return self.failure.with_traceback(None) if self.failure else otherwise

    def close(self) -> None:
        """Leave as planned."""
        self._closing.set()
        self._send(pack(FrameKind.BYE))
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join(self._patience_s)
        self._sock.close()

    def forked(self) -> None:
        """Become a forked copy: operations raise, closing does nothing, and native objects are not destroyed, since
        they are still in use in the process that joined.
        """
        self.is_copy = True
        self._failed, self._closing = threading.Event(), threading.Event()  # another thread may have held their locks
        self._sending = threading.Lock()
        self.failure = RunError(
            f"this process (pid {os.getpid()}) was forked from rank {self.rank}'s and is not part of the run: use the "
            f"communicator in the process that joined, or join as a rank of its own (init_process_group)"
        )
        self._failed.set()
        self._closing.set()
        self._sock.close()
        keep(self)

    @property
    def has_left(self) -> bool:
        """Whether it was closed."""
        return self._closing.is_set()

    def _send(self, frame: bytes) -> None:
        # A broken connection is reported by the reading thread, which sees the end of the stream.
        with self._sending, contextlib.suppress(OSError):
            try:
                self._sock.sendall(frame)
            except OSError:
                self._sock.shutdown(socket.SHUT_RDWR)  # a frame that was cut off cannot be resumed

    def _expect_frames(self, limit_s: float) -> list[Frame]:
        frames = self._receive(limit_s)
        if frames is None:
            raise self._hub_error() or PeerLostError("rank 0 closed the connection while joining: did it end?", 0)
        return frames

    def _watch(self) -> None:
        try:
            self._look_after_hub()
        except Exception as error:
            self._set_failure(error)

    def _look_after_hub(self) -> None:
        beat_s, silent_s = self._beat_s, max(self.timeout_s * SILENT_SHARE, self._beat_s * SILENT_BEATS)
        next_beat, in_vain_s = time.monotonic() + beat_s, 0.0
        while True:
            if (now := time.monotonic()) >= next_beat:
                self._send(pack(FrameKind.BEAT))
                next_beat = now + beat_s
            frames = self._receive(beat_s)
            if frames is None:
                return self._hub_gone()
            # A wait that took longer than its limit means that this process was not scheduled.
            in_vain_s = 0.0 if frames else in_vain_s + min(time.monotonic() - now, beat_s)
            if in_vain_s > silent_s and not self._closing.is_set():
                return self._set_failure(PeerLostError(f"rank 0 stopped answering {in_vain_s:.1f} s ago", 0))
            for kind, number, payload in frames:
                if self._take(kind, number, payload):
                    return None

    def _receive(self, limit_s: float) -> list[Frame] | None:
        """What arrives within the limit; None when the connection has ended."""
        try:
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            readable = poll.poll(limit_s * 1000)
        except (OSError, ValueError):
            return None  # closed
        return receive(self._sock, self._reader) if readable else []

    def _take(self, kind: FrameKind, number: int, payload: Any) -> bool:
        """Handle one frame; True when it was the last."""
        if kind is FrameKind.RESULT:
            self._results.setdefault(group_of_result(payload), queue.SimpleQueue()).put((number, payload))
        elif kind is FrameKind.QUERY:
            self._send(pack(FrameKind.STATE, payload=self.standings()))
        elif kind is FrameKind.WAITING:
            self._missing = one_line(payload)
        elif kind is FrameKind.ABORT:
            self._set_failure(_error(payload))
            return True
        return kind is FrameKind.BYE

    def _hub_gone(self) -> None:
        if not self._closing.is_set():
            self._set_failure(PeerLostError("rank 0 is gone: its process ended or its host cannot be reached", 0))

    def _set_failure(self, failure: Exception) -> None:
        self.failure = self._hub_error() or failure
        self.abort()
        self._failed.set()
        for results in tuple(self._results.values()):
            results.put((-1, b""))  # wakes a rank that waits in an exchange


def _error(verdict: FailureVerdict) -> RunError:
    """The hub's report of how the run ended."""
    told = one_line(verdict.message)
    if verdict.mismatch:
        return MismatchError(told)
    return PeerLostError(told, verdict.rank) if verdict.rank >= 0 else RunError(told)
