# SPDX-License-Identifier: Apache-2.0
"""Data connections are taken from those that prove the session's secret and are expected, and from no one else."""

import contextlib
import errno
import re
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import FAR_S, HANGS_AFTER_S

from railgauge.topo.errors import AuthenticationError, PeerLostError, UnavailableError
from railgauge.transports import data_listener, tcp
from railgauge.transports.data_connection import Name, connect, set_options, sockets_of
from railgauge.transports.data_listener import DataListener
from railgauge.transports.handshake import HUB, authenticate
from railgauge.transports.interface import Interface

SECRET = b"of this session"
LO = Interface("lo", "127.0.0.1", socket.AF_INET, "a test")
LO6 = Interface("lo", "::1", socket.AF_INET6, "a test")
WANTED = Name(channel=3, source=1, target=0)


@contextlib.contextmanager
def listening(interface=LO, timeout_s=20.0):
    listener = DataListener(SECRET, timeout_s)
    try:
        yield listener, listener.address(interface)
    finally:
        listener.close()


def soon(seconds=20.0):
    return time.monotonic() + seconds


def dial(address, name=WANTED, secret=SECRET, interface=LO):
    return connect([name], address, interface, secret, deadline=soon(), timeout_s=20.0)[0]


def taken(listener, name=WANTED):
    return listener.taken([name])[0]


def never():
    return False


def test_nothing_is_waited_for_where_nothing_comes(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda self: pytest.fail("a thread was started"))
    with listening() as (listener, _), listener.accepting(set(), soon(), never):
        pass


@pytest.mark.parametrize("interface", [LO, LO6], ids=["IPv4", "IPv6"])
def test_the_expected_connection_is_taken_with_what_was_sent_behind_its_name(interface):
    with listening(interface) as (listener, address):
        with listener.accepting({WANTED}, soon(), never):
            sender = dial(address, interface=interface)
            sender.sendall(b"data that follows at once")
        with sender, taken(listener) as receiver:
            receiver.settimeout(5)
            assert receiver.recv(100) == b"data that follows at once"
            assert receiver.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
            assert sender.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0


def test_many_come_in_any_order():
    names = {Name(channel, rank, 9) for channel in range(4) for rank in range(5)}
    with listening() as (listener, address):
        with listener.accepting(names, soon(), never):
            socks = {name: dial(address, name) for name in sorted(names, reverse=True)}
        for name, sender in socks.items():
            with sender, taken(listener, name) as receiver:
                assert receiver.getpeername() == sender.getsockname()


def test_the_sockets_of_a_connection_are_handed_out_in_their_order():
    names = sockets_of(WANTED, 5)
    with listening() as (listener, address):
        with listener.accepting(set(names), soon(), never):
            senders = connect(names, address, LO, SECRET, deadline=soon(), timeout_s=20.0)
        for sender, receiver in zip(senders, listener.taken(names), strict=True):
            with sender, receiver:
                assert receiver.getpeername() == sender.getsockname()


def test_a_sender_with_too_few_sockets_is_named():
    with (
        contextlib.ExitStack() as opened,
        listening(timeout_s=6.0) as (listener, address),
        pytest.raises(PeerLostError, match="rank 1 did not connect"),
        listener.accepting(set(sockets_of(WANTED, 3)), soon(6.0), never),
    ):
        dial_twice(address, opened)


def dial_twice(address, opened):
    """Open the first two sockets of a connection."""
    for sock in connect(sockets_of(WANTED, 2), address, LO, SECRET, deadline=soon(), timeout_s=20.0):
        opened.enter_context(sock)


def http(address):
    with socket.create_connection(address, 5) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""


def scanner(address):
    socket.create_connection(address, 5).close()


def other_secret(address):
    with contextlib.suppress(AuthenticationError, PeerLostError):
        dial(address, secret=b"of another session").close()


def other_purpose(address):
    with socket.create_connection(address, 5) as sock, contextlib.suppress(AuthenticationError, PeerLostError):
        authenticate(sock, SECRET, HUB, deadline=soon())


def unexpected(address):
    with dial(address, WANTED._replace(source=2)) as sock:
        sock.settimeout(5)
        assert sock.recv(1) == b""


def test_an_error_while_connections_are_made_waits_for_none():
    with (
        listening() as (listener, _),
        pytest.raises(ConnectionError, match="of this rank"),
        listener.accepting({WANTED}, soon(FAR_S), never),
    ):
        raise ConnectionError("of this rank")


@pytest.mark.parametrize("outsider", [http, scanner, other_secret, other_purpose, unexpected])
def test_outsiders_are_dropped_logged_and_harm_nothing(outsider, caplog):
    with listening() as (listener, address):
        with listener.accepting({WANTED}, soon(), never):
            outsider(address)
            sender = dial(address)
        with sender, taken(listener) as receiver:
            assert receiver.getpeername() == sender.getsockname()
    assert "data connection rejected from 127.0.0.1:" in caplog.text


def test_one_that_says_nothing_holds_up_nobody():
    with listening() as (listener, address):
        with socket.create_connection(address, 5), listener.accepting({WANTED}, soon(), never):
            dial(address).close()
        taken(listener).close()


def test_a_connection_that_comes_twice_is_refused_the_second_time(caplog):
    other = WANTED._replace(channel=4)
    with listening() as (listener, address):
        with listener.accepting({WANTED, other}, soon(), never):
            first, second = dial(address), dial(address)
            second.settimeout(5)
            assert second.recv(1) == b""
            third = dial(address, other)
        for sock in (first, second, third):
            sock.close()
    assert "not expected here, or is a duplicate" in caplog.text


@settings(deadline=None, max_examples=15)
@given(st.lists(st.binary(min_size=1, max_size=80), min_size=1, max_size=3))
def test_any_bytes_on_the_port_leave_it_working(pieces):
    with listening() as (listener, address):
        with listener.accepting({WANTED}, soon(), never):
            with socket.create_connection(address, 5) as sock, contextlib.suppress(OSError):
                for piece in pieces:
                    sock.sendall(piece)
            dial(address).close()
        taken(listener).close()


def test_outsiders_that_are_too_many_make_room_the_oldest_first(monkeypatch):
    monkeypatch.setattr(data_listener, "MOST_PENDING", 2)
    with listening() as (listener, address), listener.accepting({WANTED}, soon(), never):
        silent = [socket.create_connection(address, 5) for _ in range(4)]  # the third takes the place of the expected
        assert silent[0].recv(1) == b""
        dial(address).close()
        for sock in silent:
            sock.close()


def test_an_option_that_cannot_be_set_loses_only_that_connection(monkeypatch):
    broken = threading.Event()

    def set_second(sock, timeout_s):
        if not broken.is_set():
            broken.set()
            raise OSError(errno.EINVAL, "Invalid argument")
        set_options(sock, timeout_s)

    monkeypatch.setattr(data_listener, "set_options", set_second)
    with listening() as (listener, address):
        with listener.accepting({WANTED}, soon(), never):
            first = dial(address)
            first.settimeout(5)
            assert first.recv(1) == b""
            second = dial(address)
        with first, second, taken(listener) as receiver:
            assert receiver.getpeername() == second.getsockname()


OUT_OF_FILES = """
import os, resource, socket, time
from railgauge.transports.data_connection import Name, connect
from railgauge.transports.data_listener import DataListener
from railgauge.transports.interface import Interface

LO, WANTED = Interface("lo", "127.0.0.1", socket.AF_INET, "a test"), Name(0, 1, 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
listener = DataListener(b"s", 20.0)
address = listener.address(LO)
with listener.accepting({WANTED}, time.monotonic() + 20, lambda: False):
    sock, held = socket.socket(), []
    while True:
        try:
            held.append(os.dup(0))
        except OSError:
            break
    used, began = time.process_time(), time.monotonic()
    sock.connect(address)  # the kernel takes it; there is no descriptor to accept it with
    time.sleep(1.0)
    used = (time.process_time() - used) / (time.monotonic() - began)
    for descriptor in held:
        os.close(descriptor)
    sock.close()
    sender = connect([WANTED], address, LO, b"s", deadline=time.monotonic() + 10, timeout_s=20.0)[0]
print(listener.taken([WANTED])[0].getpeername() == sender.getsockname(), used < 0.5)
"""


def test_without_descriptors_it_rests_and_goes_on_when_some_are_free():
    done = subprocess.run(
        [sys.executable, "-P", "-c", OUT_OF_FILES], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert done.stdout == "True True\n", done.stderr


@pytest.mark.parametrize(("interface", "host"), [(LO, "127.0.0.1"), (LO6, "[::1]")], ids=["IPv4", "IPv6"])
def test_a_sender_that_is_gone_by_the_time_its_name_is_asked_breaks_nothing(interface, host):
    with listening(interface) as (listener, address):
        with listener.accepting({WANTED}, soon(), never):
            sender = dial(address, interface=interface)
        with taken(listener) as receiver:
            assert tcp.peer_name(receiver) == f"{host}:{sender.getsockname()[1]}"
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sender.close()  # with a reset, as from a killed host
            while tcp.peer_name(receiver) != "a peer that is gone":
                time.sleep(0.01)


def test_a_rank_that_does_not_come_is_named():
    with (
        listening(timeout_s=0.3) as (listener, _),
        pytest.raises(PeerLostError, match=r"rank 1 did not connect within 0.3 s.*NCCL_SOCKET_IFNAME") as caught,
        listener.accepting({WANTED}, soon(0.3), never),
    ):
        pass
    assert caught.value.rank == 1


def test_the_wait_ends_with_the_run():
    over = threading.Event()
    threading.Timer(0.2, over.set).start()
    with (
        listening() as (listener, _),
        pytest.raises(PeerLostError),
        listener.accepting({WANTED}, soon(60), over.is_set),
    ):
        pass


@pytest.mark.parametrize(("interface", "there"), [(LO, "127.0.0.1"), (LO6, "[::1]")], ids=["IPv4", "IPv6"])
def test_nobody_there_is_said_with_both_addresses(interface, there):
    with tcp.listen(interface.address) as free:
        address = free.getsockname()[:2]
    where = rf"from lo \({interface.address}\) to rank 0 at {re.escape(there)}:\d+"
    with pytest.raises(PeerLostError, match=rf"cannot connect {where}: .*refused") as caught:
        dial(address, interface=interface)
    assert caught.value.rank == 0


def test_a_secret_that_differs_is_said_to_the_one_that_connects():
    with (
        listening() as (listener, address),
        pytest.raises(AuthenticationError, match="differ"),
        listener.accepting({WANTED}, soon(), never),
    ):
        dial(address, secret=b"of another session")


def test_an_interface_that_is_gone_is_said():
    gone = Interface("eth7", "192.0.2.77", socket.AF_INET, "a test")
    listener = DataListener(SECRET, 1.0)
    with pytest.raises(UnavailableError, match=r"cannot listen for data on eth7:192.0.2.77"):
        listener.address(gone)
    listener.close()
