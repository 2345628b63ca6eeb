# SPDX-License-Identifier: Apache-2.0
"""The server of a TCPStore: a thread of rank 0's process, or a process of its own that several jobs use.

python -m railgauge.transports.store.tcp_server --host 10.0.0.1 --port 29500
"""

import argparse
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence

from railgauge.topo.errors import AuthenticationError, Error, UsageError, described
from railgauge.topo.values.printable import inline
from railgauge.transports import handshake, tcp
from railgauge.transports.addresses import host_and_port, with_scope
from railgauge.transports.complaints import Complaints
from railgauge.transports.pending_connections import PendingConnections
from railgauge.transports.secret import job_secret
from railgauge.transports.store.listen import is_loopback, listen
from railgauge.transports.store.served_values import Asker, ServedValues
from railgauge.transports.store.torch_wire import RequestReader, WireError

RECEIVE = 256 * 1024
FLUSH_AT = 64 * 1024
"""Answers are sent when this many bytes have gathered, or no request is left."""
NEWCOMER_S = 10.0
"""How long a client may take to identify itself, in seconds."""
MOST_NEWCOMERS = 4096
ACCEPTED_AT_ONCE = 128
"""How many connections are accepted before those that are there are read."""
LOOK_S = 1.0
"""How often the time limit of new connections is checked, in seconds."""
MOST_WITHOUT_SECRET = 64 << 20
"""Maximum bytes that a store without a job secret holds: values, and unfinished requests and unread answers of
clients."""
PAUSE_S = 0.2
"""How long no connection is accepted after the process ran out of file descriptors, in seconds."""


class Client(Asker):
    """The server's view of one connection."""

    __slots__ = ("handshake", "held", "name", "proved", "reader", "since", "sock", "writing")

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self.sock = sock
        self.name = tcp.peer_name(sock)
        self.handshake: handshake.ServerHandshake | None = None
        self.held = 0
        """How many bytes of it are in the server's count."""
        self.proved = False
        """It knows the job secret, or none is required."""
        self.since = time.monotonic()
        self.reader = RequestReader()
        self.writing = False
        """It does not read its answers at present; its requests are read again when it has."""


class StoreServer:
    """Runs a store on listening sockets, which it closes in the end."""

    def __init__(self, listeners: Sequence[socket.socket], secret: bytes = b"") -> None:
        names = [sock.getsockname() for sock in listeners]
        self.addresses: list[tuple[str, int]] = [(with_scope(name), name[1]) for name in names]
        self._listeners = listeners
        self._secret = secret
        self._values: ServedValues[Client] = ServedValues()
        self._held = 0
        """Bytes buffered in both directions, for all clients."""
        self._clients: set[Client] = set()
        self._newcomers: PendingConnections[Client] = PendingConnections(MOST_NEWCOMERS)
        self._next_look = 0.0
        self._resume: float | None = None
        self._complaints = Complaints("railgauge.store")
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._stopped = False
        self.error: Exception | None = None
        """What ended it, if that was no request of its owner."""
        self._thread = threading.Thread(target=self._serve, name="store-server", daemon=True)

    def start(self) -> None:
        """Start the server's thread."""
        if not self._secret:
            self._warn()
        for sock in self._listeners:
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._thread.start()

    def _warn(self) -> None:
        """Log who can join, unless that is only this host."""
        open_to = [host_and_port(*place) for place in self.addresses if not is_loopback(place[0])]
        if open_to:
            self._complaints.log(
                f"the store at {' and '.join(open_to)} has no job secret: anyone who can reach it can join the job; "
                f"export the same RAILGAUGE_SECRET to all processes (openssl rand -hex 32 makes one)"
            )

    def refused(self) -> list[str]:
        """The first connections that were dropped, and why."""
        return list(self._complaints.refused)

    def ring(self) -> None:
        """Ask it to end, without waiting; safe in a signal handler."""
        self._bell.close()

    def stop(self) -> None:
        """End at once; the clients see their connections closed."""
        self.ring()
        if threading.current_thread() is not self._thread:  # the garbage collector may close a store there
            self.join()

    def join(self) -> None:
        """Wait until it has been stopped."""
        self._thread.join()

    # Connections ------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._stopped:
                for key, events in self._selector.select(self._patience()):
                    if key.data:
                        self._attend(key.data, events)
                    elif key.fileobj is self._ear:
                        self._stopped = True
                    else:
                        self._accept(key.fileobj)  # type: ignore[arg-type]  # a socket, as all are
                self._look_at_clock()
        except Exception as error:  # its clients see their connections closed
            self.error = error
            self._complaints.log(f"the store has ended: {described(error)}")
        finally:
            for sock in (*self._listeners, self._ear, *(client.sock for client in self._clients)):
                sock.close()
            self._selector.close()

    def _patience(self) -> float | None:
        if self._resume:
            return PAUSE_S
        return LOOK_S if self._newcomers else None

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        if self._resume and now >= self._resume:
            self._resume = None
            for sock in self._listeners:
                self._selector.register(sock, selectors.EVENT_READ)
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        for client in self._newcomers:
            if now - client.since > NEWCOMER_S:
                self._drop(client, f"it did not identify itself as a store's client within {NEWCOMER_S:g} s")

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, _address = listener.accept()
            except OSError as error:
                if error.errno in tcp.OUT_OF_FILES and not tcp.allow_many_files():
                    self._rest()
                    self._newcomers.leave_files()
                    self._drop_surplus()
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = Client(sock)
            self._clients.add(client)
            self._newcomers.add(client, client.name)
            self._selector.register(sock, selectors.EVENT_READ, client)
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        for client in self._newcomers.surplus():
            self._drop(
                client,
                "it had not identified itself as a store's client when the limit of open connections was reached",
            )

    def _rest(self) -> None:
        if self._resume:
            return  # another listening socket had the same problem
        self._complaints.log("the store cannot accept connections at present: too many open files (ulimit -n)")
        for sock in self._listeners:
            self._selector.unregister(sock)
        self._resume = time.monotonic() + PAUSE_S

    def _drop(self, client: Client, why: str = "") -> None:
        if client not in self._clients:
            return
        if why:
            self._complaints.refuse("the store dropped", client.name, why)
        self._values.forget(client)
        self._held -= client.held
        self._clients.discard(client)
        self._newcomers.remove(client, client.name)
        self._selector.unregister(client.sock)
        client.sock.close()

    # Bytes ------------------------------------------------------------------------------------------------------

    def _attend(self, client: Client, events: int) -> None:
        if client not in self._clients:
            return  # dropped after the selector reported it
        before = self._held + self._values.held
        try:
            if events & selectors.EVENT_WRITE and not self._flush(client):
                return
            if events & selectors.EVENT_READ:
                if not (data := client.sock.recv(RECEIVE)):
                    self._drop(client)
                    return
                client.reader.feed(data if client.proved else self._prove(client, data))
                self._count(client, before)  # before any of it is stored
            self._answer(client)
            self._count(client, before)
            if client.reader.opened:
                self._newcomers.remove(client, client.name)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)
        except (WireError, UsageError) as error:
            self._drop(client, str(error))

    def _count(self, client: Client, before: int) -> None:
        """Count what is buffered for a client now. WireError when a store without a secret would hold too much."""
        if client not in self._clients:
            return
        held = client.reader.held + len(client.out)
        self._held += held - client.held
        client.held = held
        if not self._secret and self._held + self._values.held > max(MOST_WITHOUT_SECRET, before):
            raise WireError(f"a store without a job secret holds at most {MOST_WITHOUT_SECRET >> 20} MiB")

    def _prove(self, client: Client, data: bytes) -> bytes:
        """Process the handshake; return the bytes after it."""
        if client.handshake is None and data[:1] != handshake.MAGIC[:1]:
            if self._secret:
                client.sock.send(handshake.MAGIC)  # shows our own clients that a secret is required
                raise AuthenticationError("it has no job secret (RAILGAUGE_SECRET)")
            client.proved = True
            return data
        client.handshake = client.handshake or handshake.ServerHandshake(self._secret, handshake.STORE)
        client.out += client.handshake.feed(data)
        client.proved = client.handshake.done
        return client.handshake.rest

    def _answer(self, client: Client) -> None:
        """Handle the client's requests, as long as it reads the answers."""
        while client in self._clients and (request := client.reader.next()):
            for woken in self._values.handle(client, *request):
                self._flush(woken)
            if len(client.out) >= FLUSH_AT and not self._flush(client):
                return
        self._flush(client)

    def _flush(self, client: Client) -> bool:
        """Send what the client's socket accepts; returns whether that was all."""
        try:
            while client.out:
                del client.out[: client.sock.send(client.out)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return False
        if client.writing != bool(client.out):
            client.writing = bool(client.out)
            events = selectors.EVENT_WRITE if client.writing else selectors.EVENT_READ
            self._selector.modify(client.sock, events, client)
        return not client.out


def main() -> int:
    """Run a store until interrupted; the job secret comes from the environment."""
    parser = argparse.ArgumentParser(prog="tcp_server", description="Run a store as a process of its own.")
    parser.add_argument("--host", required=True, help="a name or address of this host")
    parser.add_argument("--port", type=int, default=29500, help="0: any free one")
    arguments = parser.parse_args()
    try:
        secret = job_secret(os.environ)
        server = StoreServer(listen(arguments.host, arguments.port), secret)
    except Error as error:
        print(inline(f"tcp_server: {error}"), file=sys.stderr)
        return error.exit_status
    signal.signal(signal.SIGINT, lambda *_: server.ring())
    server.start()
    where = " and ".join(f"{address} port {port}" for address, port in server.addresses)
    print(f"A store on {where}, {'with' if secret else 'without'} a job secret", file=sys.stderr, flush=True)
    server.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second interrupt changes nothing
    return 130


if __name__ == "__main__":
    sys.exit(main())
