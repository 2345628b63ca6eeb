# SPDX-License-Identifier: Apache-2.0
"""The data connections of NET/Socket from the receiving side: one rank listens, and accepts those that it expects.

A peer that connects has to prove the session's secret and to name a connection that is expected (data_connection.py);
others are dropped and logged, without delaying anyone.
"""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from railgauge.topo.errors import AuthenticationError, PeerLostError, UnavailableError
from railgauge.transports import tcp
from railgauge.transports.complaints import Complaints
from railgauge.transports.data_connection import NAME, Name, set_options
from railgauge.transports.handshake import DATA, OPENING, PROOF, ServerHandshake
from railgauge.transports.interface import Interface
from railgauge.transports.pending_connections import PendingConnections

TO_READ = OPENING + PROOF + NAME.size
"""All that a connecting rank sends before its data, which only the native transport reads."""
IDENTIFY_S = 10.0
MOST_PENDING = 1024
"""How many unidentified connections may be open, beyond those that are expected."""
TICK_S = 0.1


@dataclass(slots=True, eq=False)
class _Arrival:
    """A connection that has not yet identified itself."""

    sock: socket.socket
    handshake: ServerHandshake
    peer: str
    read: int = 0
    since: float = field(default_factory=time.monotonic)


class DataListener:
    """One rank's listening sockets, one for each interface that it is reached by."""

    def __init__(self, secret: bytes, timeout_s: float) -> None:
        self._secret = secret
        self._timeout_s = timeout_s
        self._listeners: dict[Interface, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._found: dict[Name, socket.socket] = {}
        self._pending: PendingConnections[_Arrival] = PendingConnections(MOST_PENDING)
        self._complaints = Complaints(__name__)

    def address(self, interface: Interface) -> tuple[str, int]:
        """Where others reach this rank on that interface; it listens there from now on.

        Raises:
            UnavailableError: it cannot.
        """
        if interface not in self._listeners:
            self._listeners[interface] = self._listen(interface)
        return interface.address, self._listeners[interface].getsockname()[1]

    def _listen(self, interface: Interface) -> socket.socket:
        try:
            listener = tcp.listen(interface.address)
        except OSError as error:
            raise UnavailableError(f"cannot listen for data on {interface}: {error.strerror}") from None
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        return listener

    @contextlib.contextmanager
    def accepting(self, expected: set[Name], deadline: float, over: Callable[[], bool]) -> Iterator[None]:
        """Accept the expected connections while the block runs, and wait at its end until all have arrived.

        `over` says whether the run has ended meanwhile. The connections are `taken` afterwards.

        Raises:
            PeerLostError: some did not come before the deadline (time.monotonic()); it names the ranks.
        """
        missing = set(expected)
        if not missing:  # nothing comes over a network
            yield
            return
        self._pending.most = len(missing) + MOST_PENDING
        stop = threading.Event()
        thread = threading.Thread(
            target=self._serve, args=(missing, deadline, lambda: stop.is_set() or over()), daemon=True
        )
        thread.start()
        try:
            yield
        except BaseException:
            stop.set()
            raise
        finally:
            thread.join()
        if missing:
            ranks = sorted({name.source for name in missing})
            raise PeerLostError(
                f"rank {', '.join(map(str, ranks))} did not connect within {self._timeout_s:g} s: "
                f"a firewall between the hosts, or an interface that cannot be reached (NCCL_SOCKET_IFNAME)?",
                ranks[0],
            )

    def taken(self, names: list[Name]) -> list[socket.socket]:
        """Hand out the sockets of a connection."""
        return [self._found.pop(name) for name in names]

    def close(self) -> None:
        """Stop listening; connections that were not taken are closed too."""
        for key in list(self._selector.get_map().values()):
            self._drop(key.fileobj)  # type: ignore[arg-type]
        self._selector.close()
        for sock in self._found.values():
            sock.close()

    def _serve(self, missing: set[Name], deadline: float, over: Callable[[], bool]) -> None:
        while missing and time.monotonic() < deadline and not over():
            for key, _ in self._selector.select(TICK_S):
                if key.data is None:
                    self._accept(key.fileobj)  # type: ignore[arg-type]
                elif key.data.sock.fileno() >= 0:  # else it was dropped since
                    self._read(key.data, missing)
            self._drop_silent()

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in tcp.OUT_OF_FILES and not tcp.allow_many_files():
                self._pending.leave_files()
                self._drop_surplus()
                time.sleep(TICK_S)  # some may become free
            return
        sock.setblocking(False)
        arrival = _Arrival(sock, ServerHandshake(self._secret, DATA), tcp.peer_name(sock))
        self._pending.add(arrival, arrival.peer)
        self._selector.register(sock, selectors.EVENT_READ, arrival)
        self._drop_surplus()

    def _drop_surplus(self) -> None:
        for arrival in self._pending.surplus():
            self._refuse(arrival, "it had not authenticated when the limit of open connections was reached")

    def _read(self, arrival: _Arrival, missing: set[Name]) -> None:
        try:
            data = arrival.sock.recv(TO_READ - arrival.read)
            if not data:
                raise AuthenticationError("it closed the connection before it authenticated")
            arrival.read += len(data)
            arrival.sock.sendall(arrival.handshake.feed(data))
            if len(arrival.handshake.rest) == NAME.size:
                self._take(arrival, missing)
        except BlockingIOError:
            return
        except (OSError, AuthenticationError) as error:
            self._refuse(arrival, str(error))

    def _take(self, arrival: _Arrival, missing: set[Name]) -> None:
        name = Name(*NAME.unpack(arrival.handshake.rest))
        if name not in missing:
            raise AuthenticationError(
                f"channel {name.channel} from rank {name.source} is not expected here, or is a duplicate"
            )
        set_options(arrival.sock, self._timeout_s)
        self._selector.unregister(arrival.sock)
        self._pending.remove(arrival, arrival.peer)
        self._found[name] = arrival.sock
        missing.remove(name)

    def _drop_silent(self) -> None:
        now = time.monotonic()
        for arrival in self._pending:
            if now - arrival.since > IDENTIFY_S:
                self._refuse(arrival, f"it did not identify itself within {IDENTIFY_S:g} s")

    def _refuse(self, arrival: _Arrival, why: str) -> None:
        self._complaints.refuse("data connection rejected from", arrival.peer, why)
        self._pending.remove(arrival, arrival.peer)
        self._drop(arrival.sock)

    def _drop(self, sock: socket.socket) -> None:
        self._selector.unregister(sock)
        sock.close()
