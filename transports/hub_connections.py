# SPDX-License-Identifier: Apache-2.0
"""The hub's connections: accepted without blocking, those that do not authenticate in limits, and what is sent.

The class belongs to the hub's thread (hub.py).
"""

import selectors
import socket
import time
from collections.abc import Iterator, Set

from railgauge.transports import tcp
from railgauge.transports.complaints import Complaints
from railgauge.transports.member import Member
from railgauge.transports.pending_connections import PendingConnections

TICK_S = 0.05
"""How long a wait for the next event takes at most."""
IDENTIFY_S = 10.0
MOST_PENDING = 1024
"""How many unauthenticated connections may be open, beyond one for each rank."""
ACCEPTED_AT_ONCE = 128
"""How many connections are accepted before those that are there are read."""


class HubConnections:
    """The listening socket and all that came through it, ranks and those that may become one."""

    def __init__(self, listener: socket.socket, world_size: int, secret: bytes) -> None:
        self.open: set[Member] = set()
        self._listener = listener
        self._secret = secret
        self._pending: PendingConnections[Member] = PendingConnections(world_size + MOST_PENDING)
        self._complaints = Complaints(__name__)
        self._selector = selectors.DefaultSelector()

    @property
    def refused(self) -> list[str]:
        """The first peers that were rejected, and why."""
        return list(self._complaints.refused)

    def listen(self) -> None:
        """Start accepting."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)

    def events(self) -> Iterator[tuple[Member, int]]:
        """Which connections have something to read or accept more bytes, within TICK_S; new ones are accepted."""
        for key, events in self._selector.select(TICK_S):
            if key.data is None:
                self._accept()
            else:
                yield key.data, events

    def note_proof(self, member: Member) -> None:
        """One that may have authenticated no longer counts as one that has not."""
        if member.proved:
            self._pending.remove(member, member.address)

    def send(self, member: Member, frame: bytes) -> None:
        """Send a frame, at once or when the other end takes more."""
        member.send(frame)
        self.watch_for_writing(member)

    def watch_for_writing(self, member: Member) -> None:
        """Wait for it to accept more bytes, if some are left to send."""
        if member.has_unsent != member.watched_for_writing and member in self.open:
            member.watched_for_writing = member.has_unsent
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if member.has_unsent else 0)
            self._selector.modify(member.sock, events, member)

    def drop_late(self, now: float, sent_away: Set[Member]) -> None:
        """Close those that are no rank after IDENTIFY_S; the log has all but those that were sent away."""
        for member in [m for m in self.open if m.rank < 0 and now - m.opened > IDENTIFY_S]:
            if member not in sent_away:
                self.refuse(member.address, f"it did not identify itself within {IDENTIFY_S:g} s")
            self.drop(member)

    def refuse(self, who: str, why: str) -> None:
        """Log a rejected peer (HOST:PORT, or a rank and its host)."""
        self._complaints.refuse("bootstrap: rejected", who, why)

    def drop(self, member: Member) -> None:
        """Close one; may be called twice."""
        if member in self.open:
            self.open.remove(member)
            self._pending.remove(member, member.address)
            self._selector.unregister(member.sock)
            member.sock.close()

    def forked(self) -> None:
        """Become a forked copy: close this process's descriptors, and leave the connections alone."""
        self._listener.close()
        for member in tuple(self.open):
            member.sock.close()

    def close(self) -> None:
        """Close all and stop listening."""
        for member in self.open:
            member.sock.close()
        self._listener.close()
        self._selector.close()

    def _accept(self) -> None:
        try:
            for _ in range(ACCEPTED_AT_ONCE):
                sock, _address = self._listener.accept()
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                member = Member(sock, self._secret)
                self.open.add(member)
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
            self.refuse(member.address, "it had not authenticated when the limit of open connections was reached")
            self.drop(member)
