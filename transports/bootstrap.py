# SPDX-License-Identifier: Apache-2.0
"""The bootstrap: ranks meet over TCP, exchange facts, and watch each other until the run ends.

Rank 0 is the hub of a star (`hub.py` runs beside its rank); every rank, rank 0 too, is a member with one connection.
A thread of each member answers the hub and beats, also while the rank itself is busy in native code, so that a rank
that died (its connection ends) is told from one that hangs (no beats) and from one that waits for another.
"""

import contextlib
import queue
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from railgauge.topo.errors import PeerLostError, RunError, UsageError
from railgauge.transports.frame import FrameReader, Kind, pack, receive
from railgauge.transports.hub import NOBODY, SILENT_SHARE, Hub, Waits, beat_interval

HUB_FIRST_S = 2.0
"""So much later than the hub a rank gives up by itself: the hub knows who is missing."""


class Bootstrap:
    """One rank's membership: collective exchanges of small JSON values, and news of failures."""

    def __init__(self, rank: int, world_size: int, sock: socket.socket, timeout_s: float, hub: Hub | None) -> None:
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self.failure: RunError | None = None
        self.blocked_on: Callable[[], Waits] = lambda: NOBODY
        self.on_abort: Callable[[], None] = lambda: None
        self._sock = sock
        self._hub = hub
        self._reader = FrameReader()
        self._results: queue.Queue[tuple[int, Any]] = queue.Queue()
        self._number = 0
        self._sending = threading.Lock()
        self._failed = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"bootstrap-{rank}", daemon=True)

    @classmethod
    def join(
        cls,
        *,
        rank: int,
        world_size: int,
        address: tuple[str, int],
        timeout_s: float,
        listener: socket.socket | None = None,
        version: str = "",
    ) -> "Bootstrap":
        """Meet all ranks; rank 0 listens on `address`, or on the `listener` that its launcher made.

        Raises:
            PeerLostError: not everybody came within the timeout; the message names who is missing.
            UsageError: the hub refuses this rank (its number is taken, another world size or version).
        """
        hub = None
        if rank == 0:
            hub = Hub(listener or _listen(address), world_size, timeout_s, version)
            address = hub.address
            hub.start()
        with contextlib.ExitStack() as undo:
            if hub:
                undo.callback(hub.stop)
            deadline = time.monotonic() + timeout_s
            sock = _connect(rank, address, deadline)
            undo.callback(sock.close)
            member = cls(rank, world_size, sock, timeout_s, hub)
            member._hello(version, deadline)
            undo.pop_all()
        member._thread.start()
        return member

    def all_gather(self, value: Any, limit_s: float | None = None) -> list[Any]:
        """Give every rank all ranks' values, in rank order.

        The last rank may come `limit_s` (the timeout) after the first.

        Raises:
            RunError: the run was aborted, a rank was lost, or did not come in time.
        """
        limit = limit_s or self.timeout_s
        self._number += 1
        self._send(pack(Kind.GATHER, self._number, {"value": value, "limit_s": limit}))
        deadline = time.monotonic() + limit + HUB_FIRST_S
        while time.monotonic() < deadline:
            if self._failed.is_set():
                break
            with contextlib.suppress(queue.Empty):
                number, values = self._results.get(timeout=0.2)
                if number == self._number:
                    return list(values)
        raise self.wait_for_failure(PeerLostError(f"rank {self.rank}: no answer from rank 0", 0))

    def broadcast(self, value: Any, root: int = 0, limit_s: float | None = None) -> Any:
        """Give every rank the root's value."""
        return self.all_gather(value if self.rank == root else None, limit_s)[root]

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.all_gather(None)

    def fail(self, message: str, waits: Waits = NOBODY) -> None:
        """Tell all ranks that this one cannot go on, and what it waited for."""
        self._send(pack(Kind.FAIL, 0, {"message": message, "waits": waits}))

    def wait_for_failure(self, otherwise: RunError, limit_s: float = 5.0) -> RunError:
        """Return what ended the run, once it is known; `otherwise` when nobody tells in time."""
        self._failed.wait(limit_s)
        return self.failure or otherwise

    def close(self) -> None:
        """Leave in peace; rank 0 stays until all have left, or the timeout has passed."""
        self._closing.set()
        self._send(pack(Kind.BYE))
        if self._hub:
            self._hub.finish()
        if self._thread.ident is not None:
            self._thread.join(self.timeout_s)
        self._sock.close()

    def _hello(self, version: str, deadline: float) -> None:
        hello = {"rank": self.rank, "world_size": self.world_size, "version": version}
        self._send(pack(Kind.HELLO, 0, hello))
        while (left := deadline + HUB_FIRST_S - time.monotonic()) > 0:
            self._sock.settimeout(left)
            frames = receive(self._sock, self._reader)
            if frames is None:
                raise PeerLostError(f"rank {self.rank}: rank 0 closed the connection while joining", 0)
            for kind, number, payload in frames:
                if kind is Kind.REFUSED:
                    raise UsageError(f"rank {self.rank} may not join: {payload}")
                self._take(kind, number, payload)
            if self.failure:
                raise self.failure
            if any(kind is Kind.WELCOME for kind, _, _ in frames):
                self._sock.settimeout(self.timeout_s)
                return
        raise PeerLostError(f"rank {self.rank}: no welcome from rank 0 within {self.timeout_s:g} s")

    def _send(self, frame: bytes) -> None:
        # A broken connection is reported by the reading thread, which sees the end of the stream.
        with self._sending, contextlib.suppress(OSError):
            try:
                self._sock.sendall(frame)
            except OSError:
                self._sock.shutdown(socket.SHUT_RDWR)  # what was cut off in the middle cannot be gone on with

    def _watch(self) -> None:
        beat_s = beat_interval(self.timeout_s)
        heard = time.monotonic()
        next_beat = heard
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

    def _receive(self, limit_s: float) -> list[tuple[Kind, int, Any]] | None:
        try:
            readable, _, _ = select.select([self._sock], [], [], limit_s)
        except (OSError, ValueError):
            return None  # closed
        return receive(self._sock, self._reader) if readable else []

    def _take(self, kind: Kind, number: int, payload: Any) -> bool:
        """Handle one frame; True when it was the last."""
        if kind is Kind.RESULT:
            self._results.put((number, payload))
        elif kind is Kind.QUERY:
            self._send(pack(Kind.STATE, 0, self.blocked_on()))
        elif kind is Kind.ABORT:
            lost = payload["rank"]
            self._set_failure(PeerLostError(payload["message"], lost) if lost >= 0 else RunError(payload["message"]))
            return True
        return kind is Kind.BYE

    def _hub_gone(self) -> None:
        if not self._closing.is_set():
            self._set_failure(PeerLostError("rank 0 is gone: its process ended or its host cannot be reached", 0))

    def _set_failure(self, failure: RunError) -> None:
        self.failure = failure
        self.on_abort()
        self._failed.set()


def _listen(address: tuple[str, int]) -> socket.socket:
    try:
        family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        raise UsageError(
            f"rank 0 cannot listen on {address[0]}:{address[1]}: {error}: is another run using it?"
        ) from None


def _connect(rank: int, address: tuple[str, int], deadline: float) -> socket.socket:
    """Connect to the hub, which may still be starting."""
    problem: OSError | None = None
    while (left := deadline - time.monotonic()) > 0:
        try:
            sock = socket.create_connection(address, timeout=left)
        except OSError as error:
            problem = error
            time.sleep(min(0.05, max(0.0, left)))
        else:
            if sock.getsockname() != sock.getpeername():  # a port of ours may have met itself before rank 0 listens
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            sock.close()
    raise PeerLostError(
        f"rank {rank}: nobody answers at {address[0]}:{address[1]} ({problem}): does rank 0 run, is the port open?",
        0,
    )
