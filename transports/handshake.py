# SPDX-License-Identifier: Apache-2.0
r"""Both ends of a new connection prove to each other that they know the job secret, before anything else is said.

    client -> server   b"RGAUTH1\n", client nonce (16 bytes)
    server -> client   server nonce (16), HMAC-SHA256(secret, b"server" + purpose + client nonce + server nonce) (32)
    client -> server   HMAC-SHA256(secret, b"client" + purpose + client nonce + server nonce) (32)

No field has a length on the wire, so that an unauthenticated peer cannot make the other end wait for more or store
much. The purpose (`STORE`, `HUB`, `DATA`) keeps a proof for one kind of connection from being used for another. Without
a job secret the key is b"": everybody knows it, but other protocols and other programs' ports are still detected.
"""

import contextlib
import hashlib
import hmac
import secrets
import socket
import time
from collections.abc import Callable, Iterator

from railgauge.topo.errors import AuthenticationError, PeerLostError, WaitTimeoutError
from railgauge.transports.tcp import peer_name

MAGIC = b"RGAUTH1\n"
NONCE = 16
PROOF = hashlib.sha256().digest_size
STORE, HUB, DATA = b"store", b"hub", b"data"
OPENING = len(MAGIC) + NONCE
PAUSE_S = 0.1


class ServerHandshake:
    """The server's side; the caller moves the bytes."""

    def __init__(self, secret: bytes, purpose: bytes) -> None:
        self.done = False
        self.rest = b""
        """What came after the handshake, once it is done."""
        self._secret = secret
        self._purpose = purpose
        self._expected: bytes | None = None
        self._received = b""

    def feed(self, data: bytes) -> bytes:
        """Process what arrived; return what to send.

        Raises:
            AuthenticationError: this is another protocol, or the secrets differ.
        """
        self._received += data
        answer = b"" if self._expected else self._opening()
        if self._expected and not self.done and len(self._received) >= PROOF:
            if not hmac.compare_digest(self._received[:PROOF], self._expected):
                raise AuthenticationError("its job secret differs, or it has none (RAILGAUGE_SECRET)")
            self.done = True
        if self.done:
            self.rest += self._received[PROOF:]
            self._received = self._received[:PROOF]
        return answer

    def _opening(self) -> bytes:
        if not MAGIC.startswith(self._received[: len(MAGIC)]):
            raise AuthenticationError(f"it does not speak railgauge's protocol: it begins with {self._received[:16]!r}")
        if len(self._received) < OPENING:
            return b""
        nonces = self._received[len(MAGIC) : OPENING] + secrets.token_bytes(NONCE)
        self._received = self._received[OPENING:]
        self._expected = _proof(self._secret, b"client", self._purpose, nonces)
        return nonces[NONCE:] + _proof(self._secret, b"server", self._purpose, nonces)


def authenticate(sock: socket.socket, secret: bytes, purpose: bytes, *, deadline: float) -> None:
    """Prove the secret to the server at the other end, and have it prove its own; `deadline` as time.monotonic().

    Raises:
        AuthenticationError: the secrets differ, or the other end is not railgauge.
        PeerLostError: the connection ended. WaitTimeoutError: the deadline has passed.
    """
    nonce = secrets.token_bytes(NONCE)
    before, name = sock.gettimeout(), peer_name(sock)
    with _explained(name):
        _send(sock, MAGIC + nonce, deadline)
        answer = _receive(sock, NONCE + PROOF, deadline)
        nonces = nonce + answer[:NONCE]
        _send(sock, _proof(secret, b"client", purpose, nonces), deadline)  # the server's log reports a wrong secret
    if not hmac.compare_digest(answer[NONCE:], _proof(secret, b"server", purpose, nonces)):
        raise AuthenticationError(
            f"the job secret here differs from that of {name} (RAILGAUGE_SECRET), "
            f"or another program answers there: start all processes with the same secret"
        )
    sock.settimeout(before)


def connect_proved(
    connect: Callable[[], socket.socket], secret: bytes, purpose: bytes, *, until: float, deadline: float
) -> socket.socket:
    """Connect and `authenticate` by `deadline`; retry until `until` (time.monotonic()) if the connection is lost.

    The other end drops unauthenticated connections when there are too many. Errors are those of both.
    """
    while True:
        with contextlib.ExitStack() as undo:
            sock = undo.enter_context(connect())
            try:
                authenticate(sock, secret, purpose, deadline=deadline)
            except PeerLostError:
                if time.monotonic() + PAUSE_S > until:
                    raise
            else:
                undo.pop_all()
                return sock
        time.sleep(PAUSE_S)


def _proof(secret: bytes, side: bytes, purpose: bytes, nonces: bytes) -> bytes:
    return hmac.digest(secret, side + purpose + nonces, "sha256")


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn a socket's error into one that says what it means; `name` is the other end."""
    try:
        yield
    except TimeoutError:
        raise WaitTimeoutError(f"{name} did not answer in time during authentication") from None
    except OSError as error:
        raise PeerLostError(f"lost the connection to {name} during authentication: {error.strerror or error}") from None


def _send(sock: socket.socket, data: bytes, deadline: float) -> None:
    _limit(sock, deadline)
    sock.sendall(data)


def _receive(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        _limit(sock, deadline)
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError("it closed the connection")
        data += piece
    return data


def _limit(sock: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)
