# SPDX-License-Identifier: Apache-2.0
"""The bootstrap: ranks exchange facts over TCP, and watch each other until the run ends.

Process 0 runs the hub of a star (hub.py); every rank, rank 0 too, is a member with one connection, which meeting.py
makes. A thread of each member answers the hub and beats, also while the rank itself is busy in native code, so that a
rank that died (its connection ends) is told from one that hangs (no beats) and from one that waits for another.
"""

import contextlib
import hmac
import json
import queue
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from railgauge.topo.errors import PeerLostError, RunError, UsageError
from railgauge.topo.sources.printable import one_line
from railgauge.transports.blame import NOBODY, Waits
from railgauge.transports.frame import (
    FROM_HUB,
    Frame,
    FrameReader,
    Kind,
    pack,
    pack_contribution,
    receive,
    split_result,
)
from railgauge.transports.hub import SILENT_SHARE, beat_interval

AFTER_FAILURE_S = 5.0
"""So long a rank that gave up waits to hear what the hub makes of it."""
HUB_FIRST_S = 2.0
"""So much later than the hub a rank gives up by itself: the hub knows who is missing."""
LOOK_S = 1.0
"""How often rank 0 looks around while it waits for the others to join."""


class Bootstrap:
    """One rank's membership: collective exchanges of small values, and news of failures."""

    def __init__(self, rank: int, world_size: int, sock: socket.socket, timeout_s: float) -> None:
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self.session = b""
        """The key of this run's data connections, the same on all ranks."""
        self.failure: RunError | None = None
        self.blocked_on: Callable[[], Waits] = lambda: NOBODY
        self.on_abort: Callable[[], None] = lambda: None
        self._sock = sock
        self._reader = FrameReader(FROM_HUB)
        self._results: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._number = 0
        self._missing = ""
        self._patience_s = timeout_s
        self._sending = threading.Lock()
        self._failed = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"bootstrap-{rank}", daemon=True)

    def join(
        self, version: str, host: str, secret: bytes, *, deadline: float, look_around: Callable[[], None] | None
    ) -> None:
        """Say hello, and wait until all ranks have; `look_around` is called now and then meanwhile.

        Raises:
            PeerLostError: not everybody came by the deadline (time.monotonic()); the message names who is missing.
            UsageError: the hub refuses this rank (its number is taken, another world size or version).
            RunError: another rank cannot join.
        """
        hello = {"rank": self.rank, "world_size": self.world_size, "version": version, "host": host}
        self._send(pack(Kind.HELLO, 0, hello))
        began = time.monotonic()
        while (left := deadline + HUB_FIRST_S - time.monotonic()) > 0:
            for kind, number, payload in self._expect_frames(min(left, LOOK_S) if look_around else left):
                if kind is Kind.REFUSED:
                    raise UsageError(f"this rank may not join: {one_line(payload)}")
                if kind is Kind.WELCOME:
                    self.session = hmac.digest(secret, b"session" + payload.encode(), "sha256")
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

    def all_gather_bytes(self, value: bytes, limit_s: float | None = None) -> list[bytes]:
        """Give every rank all ranks' bytes, in rank order; all together at most 64 MiB.

        The last rank may come `limit_s` (the timeout) after the first.

        Raises:
            RunError: the run was aborted, a rank was lost, or did not come in time.
        """
        limit = limit_s or self.timeout_s
        self._number += 1
        self._send(pack_contribution(self._number, limit, value))
        deadline = time.monotonic() + limit + HUB_FIRST_S
        while (left := deadline - time.monotonic()) > 0 and not self._failed.is_set():
            with contextlib.suppress(queue.Empty):
                number, result = self._results.get(timeout=left)
                if number == self._number:
                    return split_result(result, self.world_size)
        raise self.wait_for_failure(PeerLostError("no answer from rank 0", 0))

    def all_gather(self, value: Any, limit_s: float | None = None) -> list[Any]:
        """Give every rank all ranks' values (what JSON can hold), as `all_gather_bytes` does bytes."""
        return [json.loads(each) for each in self.all_gather_bytes(json.dumps(value).encode(), limit_s)]

    def broadcast(self, value: Any, root: int = 0, limit_s: float | None = None) -> Any:
        """Give every rank the root's value."""
        mine = json.dumps(value).encode() if self.rank == root else b""
        return json.loads(self.all_gather_bytes(mine, limit_s)[root])

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.all_gather_bytes(b"")

    def fail(self, message: str, waits: Waits = NOBODY) -> None:
        """Tell all ranks that this one cannot go on, and what it waited for."""
        self._patience_s = min(self.timeout_s, AFTER_FAILURE_S)
        self._send(pack(Kind.FAIL, 0, {"message": message, "waits": waits}))

    def wait_for_failure(self, otherwise: RunError, limit_s: float = AFTER_FAILURE_S) -> RunError:
        """Return what ended the run, once it is known; `otherwise` when nobody tells in time."""
        self._failed.wait(limit_s)
        return self.failure or otherwise

    def close(self) -> None:
        """Leave in peace."""
        self._closing.set()
        self._send(pack(Kind.BYE))
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join(self._patience_s)
        self._sock.close()

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
                self._sock.shutdown(socket.SHUT_RDWR)  # what was cut off in the middle cannot be gone on with

    def _expect_frames(self, limit_s: float) -> list[Frame]:
        frames = self._receive(limit_s)
        if frames is None:
            raise PeerLostError("rank 0 closed the connection while joining: did it end?", 0)
        return frames

    def _watch(self) -> None:
        beat_s = beat_interval(self.timeout_s)
        heard = time.monotonic()
        next_beat = heard + beat_s
        while True:
            if (now := time.monotonic()) >= next_beat:
                self._send(pack(Kind.BEAT))
                next_beat = now + beat_s
            frames = self._receive(beat_s)
            if frames is None:
                return self._hub_gone()
            if frames:
                heard = now
            elif now - heard > self.timeout_s * SILENT_SHARE and not self._closing.is_set():
                return self._set_failure(PeerLostError(f"rank 0 stopped answering {now - heard:.1f} s ago", 0))
            for kind, number, payload in frames:
                if self._take(kind, number, payload):
                    return None

    def _receive(self, limit_s: float) -> list[Frame] | None:
        """What comes within the limit; None when the connection has ended."""
        try:
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            readable = poll.poll(limit_s * 1000)
        except (OSError, ValueError):
            return None  # closed
        return receive(self._sock, self._reader) if readable else []

    def _take(self, kind: Kind, number: int, payload: Any) -> bool:
        """Handle one frame; True when it was the last."""
        if kind is Kind.RESULT:
            self._results.put((number, payload))
        elif kind is Kind.QUERY:
            self._send(pack(Kind.STATE, 0, self.blocked_on()))
        elif kind is Kind.WAITING:
            self._missing = one_line(payload)
        elif kind is Kind.ABORT:
            message, lost = one_line(payload["message"]), payload["rank"]
            self._set_failure(PeerLostError(message, lost) if lost >= 0 else RunError(message))
            return True
        return kind is Kind.BYE

    def _hub_gone(self) -> None:
        if not self._closing.is_set():
            self._set_failure(PeerLostError("rank 0 is gone: its process ended or its host cannot be reached", 0))

    def _set_failure(self, failure: RunError) -> None:
        self.failure = failure
        self.on_abort()
        self._failed.set()
        self._results.put((-1, b""))  # wakes a rank that waits in an exchange
