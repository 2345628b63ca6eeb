# SPDX-License-Identifier: Apache-2.0
"""A client's connection to a TCPStore's server: connecting is retried, then each request has a deadline."""

import socket
import time

from railgauge.topo.errors import AuthenticationError, PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports import handshake, tcp
from railgauge.transports.addresses import check_scope, host_and_port
from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.store import MAX_VALUE
from railgauge.transports.store.torch_wire import INT64, LENGTH, Query

ATTEMPT_S = 5.0
"""Limit of one attempt to connect; a dropped first packet is then sent again."""
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.5


class StoreConnection:
    """An authenticated connection that is known to lead to a store. Deadlines are those of time.monotonic()."""

    def __init__(self, sock: socket.socket, name: str) -> None:
        self._sock = sock
        self._name = name

    def send(self, request: bytes, deadline: float) -> None:
        """Send a request.

        Raises:
            PeerLostError: the connection is lost. WaitTimeoutError: the server does not accept it.
        """
        self._sock.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            self._sock.sendall(request)
        except OSError as error:
            raise self._trouble(error) from None

    def receive(self, size: int, deadline: float) -> bytes:
        """Receive that many bytes; errors as for `send`."""
        data = bytearray()
        while len(data) < size:
            self._sock.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                piece = self._sock.recv(size - len(data))
            except OSError as error:
                raise self._trouble(error) from None
            if not piece:
                raise PeerLostError(f"{self._name} closed the connection: did the process that runs the store end?")
            data += piece
        return bytes(data)

    def receive_value(self, deadline: float) -> bytes:
        """Receive a value with its length before it; errors as for `send`."""
        (length,) = LENGTH.unpack(self.receive(LENGTH.size, deadline))
        if length > MAX_VALUE:
            raise PeerLostError(f"{self._name} sent an invalid length of {length} bytes: is it a store?")
        return self.receive(length, deadline)

    def interrupt(self) -> None:
        """End waits on this connection, in any thread, with PeerLostError."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # gone already

    def close(self) -> None:
        """Close it."""
        self._sock.close()

    def _trouble(self, error: OSError) -> RunError:
        if isinstance(error, TimeoutError):
            return WaitTimeoutError(f"{self._name} did not answer in time")
        return PeerLostError(f"lost the connection to {self._name}: {error.strerror}")


def connect(host: str, port: int, secret: bytes, timeout_s: float) -> StoreConnection:
    """Connect to a store's server, which may not have started yet.

    Raises:
        UsageError: the host name or port is invalid.
        AuthenticationError: the server has another job secret, requires one where this process has none, or has none.
        WaitTimeoutError: no store answered within the timeout; the message has the last reason.
    """
    if not 0 < port < 65536:
        raise UsageError(f"{host} port {port}: a port is between 1 and 65535")
    check_scope(host)
    deadline, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    problem: Exception | None = None
    while True:
        limit = min(deadline, time.monotonic() + ATTEMPT_S)
        try:
            return _attempt(host, port, secret, limit)
        except (OSError, PeerLostError, WaitTimeoutError) as error:
            cut_short = limit == deadline and isinstance(error, TimeoutError | WaitTimeoutError)
            if problem is None or not cut_short:  # what was answered before says more
                problem = error
        except UnicodeError:
            raise UsageError(f"{host!r} is not a host name") from None
        if (left := deadline - time.monotonic()) <= 0:
            raise WaitTimeoutError(
                f"waited {timeout_s:g} s for the store of rank 0 at {host_and_port(host, port)}: {_reason(problem)}"
            )
        time.sleep(min(pause_s, left))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _attempt(host: str, port: int, secret: bytes, deadline: float) -> StoreConnection:
    sock = _reach(host, port, deadline)
    try:
        if secret:
            _prove(sock, secret, host, port, deadline)
        connection = StoreConnection(sock, f"the store at {host_and_port(host, port)}")
        connection.send(wire.OPENING + wire.pack(Query.GETNUMKEYS), deadline)
        _check_greeting(connection.receive(INT64.size, deadline), host, port)
    except BaseException:
        sock.close()
        raise
    return connection


def _prove(sock: socket.socket, secret: bytes, host: str, port: int, deadline: float) -> None:
    """Prove the secret to a server that may be PyTorch's, which closes the connection or waits for more."""
    now = time.monotonic()
    try:
        handshake.authenticate(sock, secret, handshake.STORE, deadline=now + (deadline - now) / 2)
    except (PeerLostError, WaitTimeoutError):
        if _is_open_to_all(host, port, deadline):
            raise AuthenticationError(
                f"the store at {host_and_port(host, port)} has no job secret (nor do PyTorch's), this process has one: "
                f"start all processes with the same RAILGAUGE_SECRET, or all without"
            ) from None
        raise


def _is_open_to_all(host: str, port: int, deadline: float) -> bool:
    """Whether a store without a secret answers there."""
    try:
        _attempt(host, port, b"", deadline).close()
    except (OSError, RunError, AuthenticationError):
        return False
    return True


def _reach(host: str, port: int, deadline: float) -> socket.socket:
    """A TCP connection to the first address that accepts one; they share the time, since one may drop all packets."""
    problem: OSError = ConnectionRefusedError("refused")
    addresses = [address for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        now = time.monotonic()
        try:
            return tcp.connect(address, now + (deadline - now) / left)
        except OSError as error:
            problem = error
    raise problem


def _check_greeting(answer: bytes, host: str, port: int) -> None:
    """Look at the answer to the first GETNUMKEYS."""
    if answer == handshake.MAGIC:
        raise AuthenticationError(
            f"the store at {host_and_port(host, port)} requires the job secret, and this process has none: "
            f"set RAILGAUGE_SECRET (or RAILGAUGE_SECRET_FILE) to that of rank 0"
        )
    if not 0 <= INT64.unpack(answer)[0] < 2**32:
        raise PeerLostError(f"the server there is not a store (it answered {answer!r})")


def _reason(problem: Exception) -> str:
    """Why the last attempt failed, and what to check."""
    match problem:
        case socket.gaierror():
            return f"this host cannot resolve that name ({problem.strerror}): is it rank 0's (MASTER_ADDR)?"
        case ConnectionRefusedError():
            return "connection refused: does rank 0 run at this address and port? Check its output"
        case TimeoutError():
            return "no answer: does a firewall drop the packets, is that host up, is it rank 0's (MASTER_ADDR)?"
        case OSError():
            return f"{problem.strerror or problem}: is that rank 0's address (MASTER_ADDR), and is the network up?"
        case _:
            return f"{problem}; does another program listen there?"
