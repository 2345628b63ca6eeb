# SPDX-License-Identifier: Apache-2.0
"""The hub's end of one connection: authenticates, receives frames, and buffers what the other end is slow to read."""

import collections
import contextlib
import socket
import time

from railgauge.transports.frame import FROM_MEMBER, PENDING_PAYLOAD, RECEIVE, Frame, FrameReader
from railgauge.transports.handshake import HUB, ServerHandshake
from railgauge.transports.tcp import peer_name


class Member:
    """One connection; a rank once it has said hello. Its socket does not block."""

    def __init__(self, sock: socket.socket, secret: bytes) -> None:
        self.sock = sock
        self.address = peer_name(sock)
        self.rank = -1
        self.host = ""
        self.pid = 0
        self.opened = self.heard = time.monotonic()
        """When it connected, and when something last arrived."""
        self.watched_for_writing = False
        """Whether the hub's selector waits for it to accept more bytes."""
        self.reader = FrameReader(FROM_MEMBER, PENDING_PAYLOAD)
        self._handshake = ServerHandshake(secret, HUB)
        self._unsent: collections.deque[memoryview] = collections.deque()

    def __str__(self) -> str:
        """For messages, once it has said hello: `pid 4711 on gpu-01 (10.0.0.1:53422)`."""
        return f"pid {self.pid} on {self.host} ({self.address})"

    @property
    def proved(self) -> bool:
        """Whether it knows the job secret."""
        return self._handshake.done

    @property
    def has_unsent(self) -> bool:
        """Whether bytes for it are still buffered."""
        return bool(self._unsent)

    def receive(self) -> list[Frame]:
        """The frames that have arrived.

        Raises:
            OSError: it is gone. ValueError: what it sends are not frames. AuthenticationError: it does not know the
            secret.
        """
        try:
            data = self.sock.recv(RECEIVE)
        except (BlockingIOError, InterruptedError):
            return []
        if not data:
            raise ConnectionError("it closed the connection")
        self.heard = time.monotonic()
        return self.reader.feed(data if self._handshake.done else self._prove(data))

    def _prove(self, data: bytes) -> bytes:
        if answer := self._handshake.feed(data):
            self.send(answer)
        return self._handshake.rest if self._handshake.done else b""

    def send(self, frame: bytes) -> None:
        """Send at once what the socket accepts, and buffer the rest; frames may be shared with other members."""
        self._unsent.append(memoryview(frame))
        if len(self._unsent) == 1:
            self.flush()

    def flush(self) -> None:
        """Continue sending what is left. An end that is gone is noticed by receiving."""
        try:
            while self._unsent:
                sent = self.sock.send(self._unsent[0])
                rest = self._unsent[0][sent:]
                if rest:
                    self._unsent[0] = rest
                    return
                self._unsent.popleft()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._unsent.clear()

    def end_sending(self) -> None:
        """Signal to the other end that nothing more follows."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
