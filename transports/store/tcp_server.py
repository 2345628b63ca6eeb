# SPDX-License-Identifier: Apache-2.0
"""The server of a TCPStore: one thread beside rank 0, or a process of its own that several jobs use.

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

from railgauge.topo.errors import AuthenticationError, Error, UsageError
from railgauge.topo.values.printable import inline
from railgauge.transports import handshake, tcp
from railgauge.transports.addresses import host_and_port, with_scope
from railgauge.transports.complaints import Complaints
from railgauge.transports.secret import job_secret
from railgauge.transports.store.listen import is_loopback, listen
from railgauge.transports.store.served_values import Asker, ServedValues
from railgauge.transports.store.torch_wire import RequestReader, WireError
from railgauge.transports.strangers import Strangers

RECEIVE = 256 * 1024
FLUSH_AT = 64 * 1024
"""Answers are sent when so many bytes of them have gathered, or no request is left."""
NEWCOMER_S = 10.0
"""A client has so long to say what it is."""
MOST_NEWCOMERS = 4096
ACCEPTED_AT_ONCE = 128
"""Who has come is listened to before more are taken."""
LOOK_S = 1.0
"""How often newcomers' time is looked at."""
MOST_OF_STRANGERS = 64 << 20
"""Bytes that a store without a job secret holds: values, and what clients have begun to send or do not take."""
PAUSE_S = 0.2
"""How long no connection is taken after the process ran out of file descriptors."""


class Client(Asker):
    """The server's view of one connection."""

    __slots__ = ("handshake", "held", "name", "proved", "reader", "since", "sock", "writing")

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self.sock = sock
        self.name = tcp.peer_name(sock)
        self.handshake: handshake.ServerHandshake | None = None
        self.held = 0
        """So many bytes of it are in the server's count."""
        self.proved = False
        """It knows the job secret, or none is wanted."""
        self.since = time.monotonic()
        self.reader = RequestReader()
        self.writing = False
        """It does not take its answers at present; its requests are read again when it has."""


class StoreServer:
    """Serves a store on listening sockets, which it closes in the end."""

    def __init__(self, listeners: Sequence[socket.socket], secret: bytes = b"") -> None:
        names = [sock.getsockname() for sock in listeners]
        self.addresses: list[tuple[str, int]] = [(with_scope(name), name[1]) for name in names]
        self._listeners = listeners
        self._secret = secret
        self._values: ServedValues[Client] = ServedValues()
        self._held = 0
        """Bytes that wait in both directions, of all clients."""
        self._clients: set[Client] = set()
        self._newcomers: Strangers[Client] = Strangers(MOST_NEWCOMERS)
        self._next_look = 0.0
        self._resume: float | None = None
        self._complaints = Complaints("railgauge.store")
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._stopped = False
        self._thread = threading.Thread(target=self._serve, name="store-server", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        if not self._secret:
            self._warn()
        for sock in self._listeners:
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._thread.start()

    def _warn(self) -> None:
        """Say who may come, unless that is only this host."""
        open_to = [host_and_port(*place) for place in self.addresses if not is_loopback(place[0])]
        if open_to:
            self._complaints.log(
                f"the store at {' and '.join(open_to)} has no job secret: whoever reaches it can join the job; "
                f"export the same RAILGAUGE_SECRET to all processes (openssl rand -hex 32 makes one)"
            )

    def refused(self) -> list[str]:
        """The first clients that were dropped, and why."""
        return list(self._complaints.refused)

    def ring(self) -> None:
        """Have it end, and do not wait for that; a signal may come in the midst of another."""
        self._bell.close()

    def stop(self) -> None:
        """End at once; the clients see their connections closed."""
        self.ring()
        if threading.current_thread() is not self._thread:  # where the garbage collector may run into a store
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
                self._drop(client, f"it did not say within {NEWCOMER_S:g} s that it is a store's client")

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
            self._drop(client, "it had not said that it is a store's client when there was no room for others")

    def _rest(self) -> None:
        if self._resume:
            return  # another listening socket met the same
        self._complaints.log("the store takes no connections for now: too many open files (ulimit -n)")
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
            return  # dropped since it had something to say
        before = self._held + self._values.held
        try:
            if events & selectors.EVENT_WRITE and not self._flush(client):
                return
            if events & selectors.EVENT_READ:
                if not (data := client.sock.recv(RECEIVE)):
                    self._drop(client)
                    return
                client.reader.feed(data if client.proved else self._prove(client, data))
                self._count(client, before)  # before any of it is kept
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
        """Note what waits of a client now. WireError when it has a store open to all hold too much."""
        if client not in self._clients:
            return
        held = client.reader.held + len(client.out)
        self._held += held - client.held
        client.held = held
        if not self._secret and self._held + self._values.held > max(MOST_OF_STRANGERS, before):
            raise WireError(f"a store without a job secret holds {MOST_OF_STRANGERS >> 20} MiB at most")

    def _prove(self, client: Client, data: bytes) -> bytes:
        """Take what belongs to the handshake; return what stands behind it."""
        if client.handshake is None and data[:1] != handshake.MAGIC[:1]:
            if self._secret:
                client.sock.send(handshake.MAGIC)  # tells our own clients what is wanted here
                raise AuthenticationError("it has no job secret (RAILGAUGE_SECRET)")
            client.proved = True
            return data
        client.handshake = client.handshake or handshake.ServerHandshake(self._secret, handshake.STORE)
        client.out += client.handshake.feed(data)
        client.proved = client.handshake.done
        return client.handshake.rest

    def _answer(self, client: Client) -> None:
        """Do what the client asks for, as far as it takes the answers."""
        while client in self._clients and (request := client.reader.next()):
            for woken in self._values.handle(client, *request):
                self._flush(woken)
            if len(client.out) >= FLUSH_AT and not self._flush(client):
                return
        self._flush(client)

    def _flush(self, client: Client) -> bool:
        """Send what the client takes; whether that was all."""
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
    """Serve a store until interrupted; the job secret is the environment's."""
    parser = argparse.ArgumentParser(prog="tcp_server", description="A store that stands alone.")
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more says nothing new
    return 130


if __name__ == "__main__":
    sys.exit(main())
