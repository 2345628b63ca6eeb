# SPDX-License-Identifier: Apache-2.0
import contextlib
import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import AuthenticationError, PeerLostError, WaitTimeoutError
from railgauge.transports.handshake import (
    DATA,
    HUB,
    MAGIC,
    OPENING,
    STORE,
    ServerHandshake,
    authenticate,
)


def serve(sock, secret, purpose, *, deadline):
    """The server's side, as the servers do it."""
    server = ServerHandshake(secret, purpose)
    sock.settimeout(deadline - time.monotonic())
    while not server.done and (data := sock.recv(4096)):
        sock.sendall(server.feed(data))


def both(client, server, purposes=(DATA, DATA), limit_s=5.0):
    """What each side's handshake with its secret raises; None for nothing."""
    ends = socket.socketpair()
    found = [None, None]

    def side(number, function, secret):
        try:
            function(ends[number], secret, purposes[number], deadline=time.monotonic() + limit_s)
        except Exception as error:
            found[number] = error
            ends[number].close()

    threads = [
        threading.Thread(target=side, args=(0, authenticate, client)),
        threading.Thread(target=side, args=(1, serve, server)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for end in ends:
        end.close()
    return found


@pytest.mark.parametrize("secret", [b"", b"x", b"s" * 64])
def test_equal_secrets_pass(secret):
    assert both(secret, secret) == [None, None]


@pytest.mark.parametrize(("client", "server"), [(b"a", b"b"), (b"", b"b"), (b"a", b"")])
def test_both_sides_learn_that_secrets_differ(client, server):
    here, there = both(client, server)
    assert isinstance(here, AuthenticationError)
    assert "the job secret here differs from that of" in str(here)
    assert isinstance(there, AuthenticationError)
    assert "its job secret differs" in str(there)


def test_a_proof_for_one_purpose_is_none_for_another():
    assert all(isinstance(error, AuthenticationError) for error in both(b"a", b"a", (HUB, STORE)))


def test_a_server_that_ends_or_says_nothing_is_told_apart():
    for close in (True, False):
        client, server = socket.socketpair()
        with client, server:
            if close:
                server.shutdown(socket.SHUT_RDWR)
            with pytest.raises(PeerLostError if close else WaitTimeoutError):
                authenticate(client, b"a", DATA, deadline=time.monotonic() + 0.2)


def test_the_sockets_timeout_is_as_before():
    client, server = socket.socketpair()
    with client, server:
        client.settimeout(12.5)
        thread = threading.Thread(
            target=serve, args=(server, b"a", DATA), kwargs={"deadline": time.monotonic() + HANGS_AFTER_S}
        )
        thread.start()
        authenticate(client, b"a", DATA, deadline=time.monotonic() + HANGS_AFTER_S)
        thread.join()
        assert client.gettimeout() == 12.5


class Wire:
    """Stands for the client's socket: what it sends goes to a ServerHandshake in pieces of one size."""

    def __init__(self, server, step):
        self._server, self._step, self._answers = server, step, b""

    def sendall(self, data):
        for at in range(0, len(data), self._step):
            self._answers += self._server.feed(data[at : at + self._step])

    def recv(self, size):
        piece, self._answers = self._answers[:size], self._answers[size:]
        return piece

    def gettimeout(self):
        return None

    def settimeout(self, seconds):
        pass

    def getpeername(self):
        return ("10.0.0.1", 1)


@given(st.binary(), st.sampled_from([STORE, HUB, DATA]), st.integers(1, 40), st.binary(max_size=50))
def test_the_handshake_survives_any_cutting_and_keeps_what_follows(secret, purpose, step, rest):
    server = ServerHandshake(secret, purpose)
    wire = Wire(server, step)
    authenticate(wire, secret, purpose, deadline=time.monotonic() + HANGS_AFTER_S)
    assert server.done
    wire.sendall(rest)
    assert server.rest == rest


@given(st.lists(st.binary(max_size=60), max_size=6), st.booleans())
def test_outsiders_never_get_through(pieces, opens_well):
    server = ServerHandshake(b"secret", HUB)
    with contextlib.suppress(AuthenticationError):
        if opens_well:
            server.feed(MAGIC + bytes(OPENING - len(MAGIC)))
        for piece in pieces:
            server.feed(piece)
    assert not server.done


@pytest.mark.parametrize("data", [b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02", b"SSH-2.0-x", b"R\n", b"RGAUTH2\n"])
def test_other_protocols_are_refused_at_their_first_bytes(data):
    with pytest.raises(AuthenticationError, match="not speak railgauge"):
        ServerHandshake(b"", HUB).feed(data)


def test_replayed_proofs_are_worth_nothing():
    recorded = []

    class Recorder(Wire):
        def sendall(self, data):
            recorded.append(data)
            super().sendall(data)

    authenticate(Recorder(ServerHandshake(b"a", HUB), 64), b"a", HUB, deadline=time.monotonic() + HANGS_AFTER_S)
    again = ServerHandshake(b"a", HUB)
    again.feed(recorded[0])
    with pytest.raises(AuthenticationError):
        again.feed(recorded[1])


def test_the_servers_own_proof_sent_back_lets_nobody_in():
    """A outsider who knows nothing can still echo what the server sends."""
    for answered in (slice(16, None), slice(None)):
        server = ServerHandshake(b"secret", HUB)
        answer = server.feed(MAGIC + bytes(OPENING - len(MAGIC)))
        with pytest.raises(AuthenticationError):
            server.feed(answer[answered])
        assert not server.done


def test_a_client_takes_no_proof_that_it_sent_itself():
    """A server that knows nothing echoes the client's nonce, and may have the client's proof of another connection."""
    proofs = []

    class Echo(Wire):
        def sendall(self, data):
            proofs.append(data)
            super().sendall(data)

    authenticate(Echo(ServerHandshake(b"a", HUB), 64), b"a", HUB, deadline=time.monotonic() + HANGS_AFTER_S)
    client, server = socket.socketpair()
    with client, server:
        server.sendall(bytes(16) + proofs[1])
        with pytest.raises(AuthenticationError):
            authenticate(client, b"a", HUB, deadline=time.monotonic() + HANGS_AFTER_S)


def test_both_ends_draw_a_new_nonce_for_each_connection():
    """With the same nonces again, a recorded server could be played to a client, and a client to a server."""
    sent = []

    class Recorder(Wire):
        def sendall(self, data):
            sent.append(data)
            super().sendall(data)

    for _ in range(2):
        authenticate(Recorder(ServerHandshake(b"a", HUB), 64), b"a", HUB, deadline=time.monotonic() + HANGS_AFTER_S)
    assert sent[0] != sent[2]
    opening = MAGIC + bytes(OPENING - len(MAGIC))
    first, second = (ServerHandshake(b"a", HUB).feed(opening) for _ in range(2))
    assert first[:16] != second[:16]
