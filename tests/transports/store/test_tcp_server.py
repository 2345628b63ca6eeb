# SPDX-License-Identifier: Apache-2.0
"""The TCPStore's server against raw sockets that send anything: it stays, and serves others as if nothing had been."""

import contextlib
import select
import socket
import struct
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S
from tests.transports.store.wire_requests import any_requests, cut, encode

from railgauge.topo.errors import PeerLostError, UsageError
from railgauge.transports import tcp
from railgauge.transports.handshake import MAGIC
from railgauge.transports.store import TCPStore, tcp_server
from railgauge.transports.store.served_values import Asker, ServedValues
from railgauge.transports.store.torch_wire import LENGTH, OPENING, Query

LONG = timedelta(seconds=20)
SECRET = b"s3cret"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s

keys = st.sampled_from([b"/a", b"/b", b"/c", b""])
valid = any_requests(keys).map(lambda request: encode(*request))
giant = st.tuples(st.sampled_from(list(Query)), st.integers(0, 2**64 - 1)).map(
    lambda said: bytes([said[0]]) + LENGTH.pack(said[1])
)
truncated = st.tuples(valid, st.integers(0, 40)).map(lambda said: said[0][: said[1]])
bent = st.tuples(valid, st.integers(0, 40), st.integers(0, 255)).map(
    lambda said: said[0][: said[1]] + bytes([said[2]]) + said[0][said[1] + 1 :]
)
noise = st.binary(max_size=40)
begins = st.sampled_from([OPENING, OPENING, OPENING, OPENING * 2, MAGIC, MAGIC + bytes(16), b"", OPENING[:3]])
streams = st.builds(
    lambda begin, pieces: begin + b"".join(pieces), begins, st.lists(st.one_of(valid, giant, truncated, bent, noise))
)
steps = st.lists(st.integers(1, 60), min_size=1, max_size=4)
endings = st.sampled_from(["close", "shutdown", "reset", "later"])


@pytest.fixture(scope="module", params=[b"", SECRET], ids=["no secret", "secret"])
def store(request):
    """One server for all examples, which all have to leave it whole."""
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG, secret=request.param) as store:
        yield store


def outsider(store):
    sock = socket.create_connection(("127.0.0.1", store.port), timeout=HANGS_AFTER_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each piece by itself
    return sock


def set_of(key, size):
    return bytes([Query.SET]) + LENGTH.pack(len(key)) + key + LENGTH.pack(size) + bytes(size)


@pytest.mark.parametrize("secret", [b"", SECRET], ids=["no secret", "secret"])
def test_a_store_open_to_all_keeps_no_more_than_its_bound(monkeypatch, secret):
    monkeypatch.setattr(tcp_server, "MOST_WITHOUT_SECRET", 1 << 20)
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG, secret=secret) as store:
        values = store._server._values
        with TCPStore("127.0.0.1", store.port, timeout=LONG, secret=secret) as client:
            refused = contextlib.nullcontext() if secret else pytest.raises(PeerLostError)
            with refused:
                for number in range(8):
                    client.set(f"key {number}", bytes(1 << 18))
        assert (values.held > 2 << 20) == bool(secret)
        store.set("small", "1")
        assert store.get("small") == b"1"
        before = values.held
        store.set("another", "1")
        store.set("another", "12345")
        assert store.delete_key("another")
        assert values.held == before


def test_a_full_store_open_to_all_still_answers(monkeypatch):
    monkeypatch.setattr(tcp_server, "MOST_WITHOUT_SECRET", 64 << 10)
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store:
        with TCPStore("127.0.0.1", store.port, timeout=LONG) as client, contextlib.suppress(PeerLostError):
            for number in range(200):
                client.set(f"key {number}", bytes(1000))
        assert 60 << 10 < store._server._values.held <= 64 << 10
        assert store.get("key 0") == bytes(1000)
        assert store.delete_key("key 0")


def test_nor_more_of_requests_that_are_not_all_there_or_answers_that_nobody_takes(monkeypatch, caplog):
    monkeypatch.setattr(tcp_server, "MOST_WITHOUT_SECRET", 1 << 20)
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store, contextlib.ExitStack() as stack:
        halves = [stack.enter_context(outsider(store)) for _ in range(4)]
        for sock in halves:
            sock.sendall(OPENING + set_of(b"k", 1 << 19)[:-1])
        dropped = select.select(halves, [], [], 20)[0]
        assert 1 <= len(dropped) <= 3
        for sock in halves:
            sock.close()
        until(lambda: store._server._held < 1 << 18)
        store.set("k", bytes(1 << 18))
        greedy = stack.enter_context(outsider(store))
        get = bytes([Query.GET]) + LENGTH.pack(2) + b"/k"
        with contextlib.suppress(OSError):
            greedy.sendall(OPENING + get * 2000)
        assert store.get("k") == bytes(1 << 18)
        assert store._server._held < 4 << 20
    assert "without a job secret holds at most 1 MiB" in caplog.text


def test_a_store_that_ends_by_an_error_says_so_and_closes_its_connections(monkeypatch, caplog, capfd):
    def nothing_fits(*_):
        raise MemoryError

    with (
        TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store,
        TCPStore("127.0.0.1", store.port, timeout=LONG) as other,
    ):
        monkeypatch.setattr(tcp_server.StoreServer, "_answer", nothing_fits)
        with pytest.raises(PeerLostError):
            other.get("key")
        with pytest.raises(MemoryError):
            store.get("key")
    assert "the store has ended: out of memory" in caplog.text
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("host", "secret", "warned"), [("0.0.0.0", b"", 1), ("0.0.0.0", SECRET, 0), ("127.0.0.1", b"", 0)]
)
def test_a_store_that_others_reach_without_a_secret_says_so_at_the_start(caplog, host, secret, warned):
    server = tcp_server.StoreServer([tcp.listen(host)], secret)
    server.start()
    server.stop()
    assert caplog.text.count("has no job secret: anyone who can reach it") == warned


def end(sock, how):
    with contextlib.suppress(OSError):
        if how == "shutdown":
            sock.shutdown(socket.SHUT_WR)
        elif how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    if how != "later":
        sock.close()


def everything(sock):
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            data += piece
    return data


@settings(deadline=None, max_examples=50)
@given(crowd=st.lists(st.tuples(streams, steps, endings), min_size=1, max_size=4))
def test_a_crowd_that_says_anything_in_any_pieces_harms_nobody(store, crowd):
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(outsider(store)) for _ in crowd]
        talks = [list(cut(stream, sizes)) for stream, sizes, _ in crowd]
        for turn in range(max(map(len, talks))):  # they talk at the same time
            for sock, talk in zip(socks, talks, strict=True):
                with contextlib.suppress(ConnectionError):
                    sock.sendall(b"".join(talk[turn : turn + 1]))
        for sock, (_, _, how) in zip(socks, crowd, strict=True):
            end(sock, how)
        check_whole(store)
    deadline = time.monotonic() + HANGS_AFTER_S
    while len(store._server._clients) > 1:  # all outsiders are forgotten, with what they waited for
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert not store._server._values._waiters


def check_whole(store):
    """A client that comes now is served, and what was there is there."""
    with TCPStore("127.0.0.1", store.port, timeout=LONG, secret=store._secret) as client:
        assert client.compare_set("a key of nobody else's", "", "here") == b"here"
        client.set("mine", "1")
        assert store.get("mine") == b"1"
        assert client.delete_key("mine")


@settings(deadline=None, max_examples=30)
@given(requests=st.lists(any_requests(keys), max_size=12), sizes=steps)
def test_answers_do_not_depend_on_the_pieces_that_requests_come_in(requests, sizes):
    expected, is_whole = answers(requests)
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store, outsider(store) as sock:
        with contextlib.suppress(OSError):  # dropped meanwhile
            for piece in cut(OPENING + b"".join(encode(*request) for request in requests), sizes):
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
        got = everything(sock)
    assert got == expected if is_whole else expected.startswith(got)


def answers(requests):
    """What a server says that gets them one by one; and whether it was all, or it has dropped who asks."""
    values, asker = ServedValues(), Asker()
    for query, fields in requests:
        try:
            values.handle(asker, query, list(fields))
        except UsageError:
            return bytes(asker.out), False
    return bytes(asker.out), True


def test_who_asks_before_it_opens_is_dropped_at_once_however_much_it_announces(store):
    with outsider(store) as sock:
        sock.settimeout(tcp_server.NEWCOMER_S / 2)
        sock.sendall(bytes([Query.SET]) + LENGTH.pack(8000) + b"x" * 100)
        assert everything(sock) in (b"", MAGIC)
    check_whole(store)


def test_silent_outsiders_on_every_place_keep_no_client_out(monkeypatch, caplog):
    monkeypatch.setattr(tcp_server, "MOST_NEWCOMERS", 20)
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store, contextlib.ExitStack() as stack:
        outsiders = [stack.enter_context(outsider(store)) for _ in range(100)]
        assert everything(outsiders[0]) == b""
        with TCPStore("127.0.0.1", store.port, timeout=LONG) as client:
            client.set("a", "1")
        assert store.get("a") == b"1"
    assert "when the limit of open connections was reached" in caplog.text


def test_outsiders_do_not_fill_the_log(caplog):
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store:
        for _ in range(60):
            with outsider(store) as sock:
                sock.sendall(b"GET / HTTP/1.1\r\n")
                everything(sock)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 20
    assert lines[-1].endswith("further ones are not logged for an hour")


OUT_OF_FILES = """
import os, resource, sys
from railgauge.transports.store.listen import listen
from railgauge.transports.store.tcp_server import StoreServer
listeners = listen("127.0.0.1", 0) + listen("127.0.0.2", 0)
print(*(sock.getsockname()[1] for sock in listeners), flush=True)
sys.stdin.readline()
server = StoreServer(listeners)
spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(10)]
resource.setrlimit(resource.RLIMIT_NOFILE, (max(spare) + 1, max(spare) + 1))
server.start()
sys.stdin.readline()
for fd in spare:
    os.close(fd)
server.join()
"""


def test_two_listening_sockets_may_run_out_of_files_together():
    with (
        subprocess.Popen(
            [sys.executable, "-c", OUT_OF_FILES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.kill)
        ports = list(map(int, process.stdout.readline().split()))
        places = list(zip(("127.0.0.1", "127.0.0.2"), ports, strict=True))
        for place in places:  # both have somebody to take when the server begins
            stack.enter_context(socket.create_connection(place, timeout=HANGS_AFTER_S))
        process.stdin.write(b"begin\n")
        process.stdin.flush()
        assert b"too many open files" in process.stderr.readline()
        process.stdin.write(b"free some\n")
        process.stdin.flush()
        for place in places:
            with TCPStore(*place, timeout=LONG) as client:
                client.set("a", "1")


def test_a_client_that_is_known_is_a_newcomer_no_more(monkeypatch):
    monkeypatch.setattr(tcp_server, "NEWCOMER_S", 0.1)
    monkeypatch.setattr(tcp_server, "LOOK_S", 0.05)
    with TCPStore("127.0.0.1", 0, is_master=True) as store, outsider(store) as opened:
        opened.sendall(OPENING)
        with outsider(store) as silent:
            assert everything(silent) == b""
        opened.sendall(encode(Query.PING, [b"four"]))
        assert opened.recv(4) == b"four"
