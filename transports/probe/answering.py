# SPDX-License-Identifier: Apache-2.0
"""The listening side of a tested connection: a node listens at its endpoints and answers peers that know the secret."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from railgauge.topo.errors import AuthenticationError
from railgauge.transports import tcp
from railgauge.transports.handshake import OPENING, PROOF, ServerHandshake
from railgauge.transports.probe.greeting import DATA, DATA_S, GREETING_S, LENGTH, PROBE, TAKEN, receive

AT_ONCE = 256
"""Connections that are answered at a time; others wait until idle ones time out."""
TICK_S = 0.1


class Answering:
    """A node's listening sockets, by its name. `listen` at all, then `answering`."""

    def __init__(self, name: str, secret: bytes) -> None:
        self._name = name.encode()
        self._secret = secret
        self._selector = selectors.DefaultSelector()

    def listen(self, address: str) -> int:
        """Listen at an address of this host; the port. OSError when that cannot be."""
        listener = tcp.listen(address)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        return int(listener.getsockname()[1])

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Answer while the block runs, then stop listening."""
        stop = threading.Event()
        thread = threading.Thread(target=self._serve, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _serve(self, stop: threading.Event) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while not stop.is_set():
                for key, _ in self._selector.select(TICK_S):
                    with contextlib.suppress(OSError):  # the connection is already gone
                        pool.submit(self._answer, key.fileobj.accept()[0])  # type: ignore[union-attr]
            for key in list(self._selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]
            self._selector.close()

    def _answer(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError, AuthenticationError):  # the connecting node reports it
            self._prove(sock, time.monotonic() + GREETING_S)
            sock.sendall(LENGTH.pack(len(self._name)) + self._name)
            receive(sock, len(DATA), time.monotonic() + DATA_S)
            sock.sendall(TAKEN)

    def _prove(self, sock: socket.socket, deadline: float) -> None:
        shake = ServerHandshake(self._secret, PROBE)
        sock.sendall(shake.feed(receive(sock, OPENING, deadline)))
        shake.feed(receive(sock, PROOF, deadline))
