# SPDX-License-Identifier: Apache-2.0
"""What is particular to the TCPStore: a server among outsiders, secrets, and when it is not there."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import AuthenticationError, PeerLostError, UsageError, WaitTimeoutError
from railgauge.transports.store import TCPStore, connection, tcp_server, tcp_store
from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.torch_wire import LENGTH, Query, pack

LONG = timedelta(seconds=20)
SHORT = timedelta(milliseconds=300)


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def outsider(store):
    return socket.create_connection(("127.0.0.1", store.port), timeout=HANGS_AFTER_S)


def everything(sock):
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            data += piece
    return data


class HastyClock:
    """The first pause takes all of a timeout but for a moment."""

    def __init__(self, timeout):
        self._passed, self._pause_s = 0.0, (timeout - SHORT).total_seconds()

    def monotonic(self):
        return time.monotonic() + self._passed

    def sleep(self, _seconds):
        self._passed += self._pause_s


# Pending connections ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x00\xce\xf7\x85\x3c\xff",
        b"RGAUTH1\nno proof of anything" + b"x" * 60,
        b"\xff" * 5000,
    ],
    ids=["http", "tls", "ssh", "zeros", "unknown request", "handshake", "noise"],
)
def test_a_outsider_is_dropped_and_nobody_else_notices(master, said, caplog):
    master.set("a", "1")
    with outsider(master) as sock:
        sock.sendall(said)
        everything(sock)  # ends
    assert master.get("a") == b"1"
    assert "the store dropped 127.0.0.1:" in caplog.text


def test_a_port_scan_harms_nothing(master):
    for _ in range(50):
        outsider(master).close()
    master.set("a", "1")
    assert master.get("a") == b"1"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=5), opened=st.booleans())
def test_any_bytes_leave_the_store_as_it_was(master, pieces, opened):
    with outsider(master) as sock, contextlib.suppress(ConnectionError):
        for piece in [wire.OPENING] * opened + pieces:
            sock.sendall(piece)
    assert master.compare_set("always", "", "here") == b"here"


def test_who_says_nothing_is_dropped(monkeypatch, caplog):
    monkeypatch.setattr(tcp_server, "NEWCOMER_S", 0.1)
    monkeypatch.setattr(tcp_server, "LOOK_S", 0.05)
    with TCPStore("127.0.0.1", 0, is_master=True) as store:
        with outsider(store) as sock:
            assert everything(sock) == b""
        assert "did not identify itself" in caplog.text
        store.set("its own clients", "stay")
        time.sleep(0.2)
        assert store.num_keys() == 1


def test_who_takes_no_answers_holds_up_nobody(master):
    master.set("big", b"x" * 4_000_000)
    with outsider(master) as sock:
        sock.sendall(wire.OPENING + pack(Query.GET, b"/big") * 200)
        for n in range(50):
            master.set(f"k{n}", "1")
        assert master.num_keys() == 51
        time.sleep(0.1)
        got = sock.recv(100)
        assert LENGTH.unpack(got[:8]) == (4_000_000,)
        rest = 200 * 4_000_008 - len(got)  # all of it comes once it is taken
        while rest:
            rest -= len(sock.recv(min(rest, 1 << 20)))


def test_who_asks_for_too_much_at_once_is_dropped(master, caplog):
    master.set("big", b"x" * 8_000_000)
    with outsider(master) as sock:
        sock.sendall(wire.OPENING + pack(Query.MULTI_GET, 100, *[b"/big"] * 100))
        assert everything(sock) == b""
    assert "at once" in caplog.text


def test_a_client_that_goes_while_it_waits_is_forgotten(master):
    with outsider(master) as sock:
        sock.sendall(wire.OPENING + pack(Query.WAIT, 2, b"/a", b"/b"))
    assert master.num_keys() == 0
    master.set("a", "1")
    master.set("b", "1")
    assert not master._server._values._waiters


def test_more_connections_than_open_files_allow_wait_their_turn():
    code = """
import resource, socket
from datetime import timedelta
from railgauge.transports.store import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=20))
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 80))
print(store.port, flush=True)
input()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        port = int(process.stdout.readline())
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for sock in crowd:
            sock.close()
        with TCPStore("127.0.0.1", port, timeout=LONG) as store:
            store.set("a", "1")
        out, err = process.communicate("\n", timeout=HANGS_AFTER_S)
    assert out == "(80, 80)\n"
    assert "too many open files" in err


# The job secret -------------------------------------------------------------------------------------------------


def test_another_secret_is_refused_at_once_and_logged(caplog):
    with TCPStore("127.0.0.1", 0, is_master=True, secret=b"right") as master:
        with pytest.raises(AuthenticationError, match="RAILGAUGE_SECRET"):
            TCPStore("127.0.0.1", master.port, timeout=LONG, secret=b"wrong")
        with pytest.raises(AuthenticationError, match=r"requires the job secret.*RAILGAUGE_SECRET"):
            TCPStore("127.0.0.1", master.port, timeout=LONG)
        master.set("a", "1")
    assert len(re.findall(r"the store dropped 127.0.0.1:\d+: .*RAILGAUGE_SECRET", caplog.text)) == 2


def test_a_client_with_a_secret_refuses_a_server_without(master):
    with pytest.raises(AuthenticationError):
        TCPStore("127.0.0.1", master.port, timeout=LONG, secret=b"mine")


@pytest.mark.parametrize("how", ["end", "reset", "silence"])
def test_a_store_that_knows_no_proof_is_told_as_such(how, monkeypatch):
    def like_torchs():
        strange, _ = listener.accept()
        with strange:
            if how != "silence":
                strange.recv(1 if how == "reset" else 100)
                strange.close()
            known, _ = listener.accept()
            with known:
                assert known.recv(100) == wire.OPENING + pack(Query.GETNUMKEYS)
                known.sendall(wire.INT64.pack(0))

    monkeypatch.setattr(connection, "ATTEMPT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as pool:
        server = pool.submit(like_torchs)
        with pytest.raises(AuthenticationError, match=r"has no job secret .*PyTorch's.*RAILGAUGE_SECRET"):
            TCPStore("127.0.0.1", listener.getsockname()[1], timeout=LONG, secret=b"mine")
        server.result(20)


def test_a_server_that_closes_on_its_way_out_is_followed_by_the_right_one():
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as pool:
        port = listener.getsockname()[1]
        client = pool.submit(TCPStore, "127.0.0.1", port, timeout=LONG, secret=b"mine")
        for _ in range(5):
            sock, _ = listener.accept()
            sock.recv(1)  # what is left unread makes it a reset
            sock.close()
        kept = os.dup(listener.fileno())
        with TCPStore("127.0.0.1", port, is_master=True, master_listen_fd=kept, secret=b"mine") as master:
            client.result(20).set("a", "1")
            assert master.get("a") == b"1"
            client.result().close()


def test_no_secret_is_in_a_message(caplog):
    refused = pytest.raises(AuthenticationError)
    with TCPStore("127.0.0.1", 0, is_master=True, secret=b"hush-hush") as master, refused as raised:
        TCPStore("127.0.0.1", master.port, timeout=LONG, secret=b"tell-tale")
    assert "hush" not in caplog.text + str(raised.value)
    assert "tale" not in caplog.text + str(raised.value)


# Coming and going -----------------------------------------------------------------------------------------------


def test_a_client_waits_for_its_server(closed_port):
    with ThreadPoolExecutor() as pool:
        client = pool.submit(TCPStore, "127.0.0.1", closed_port, timeout=LONG)
        time.sleep(0.1)
        with TCPStore("127.0.0.1", closed_port, is_master=True, timeout=LONG) as master, client.result(20) as store:
            master.set("a", "1")
            assert store.get("a") == b"1"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("127.0.0.1", "connection refused: does rank 0 run at this"),
        ("no-such-host.invalid", "cannot resolve that name"),
    ],
)
def test_a_server_that_never_comes_is_named_with_what_to_look_at(closed_port, host, reason):
    with pytest.raises(WaitTimeoutError, match=rf"waited 0.3 s for the store of rank 0 at {host}:\d+: .*{reason}"):
        TCPStore(host, closed_port, timeout=SHORT)


def test_a_server_that_does_not_answer_is_not_waited_for_longer_than_said():
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(WaitTimeoutError, match=r"waited 0.3 s"):
        TCPStore("127.0.0.1", mute.getsockname()[1], timeout=SHORT)


def test_another_program_at_the_port_is_told_even_if_it_is_silent_in_the_end(monkeypatch):
    def serve():
        answered, _ = listener.accept()
        with answered:
            answered.recv(100)
            answered.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    monkeypatch.setattr(connection, "time", HastyClock(LONG))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(WaitTimeoutError, match=r"not a store.*HTTP.*another program"):
            TCPStore("127.0.0.1", listener.getsockname()[1], timeout=LONG)
        thread.join()


def test_who_waits_when_the_master_goes_is_told():
    master = TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG)
    with TCPStore("127.0.0.1", master.port, timeout=LONG) as client, ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.get, "never")
        client.set("a", "1")
        master.close()
        with pytest.raises(PeerLostError, match="closed the connection"):
            waiting.result(20)


def test_closing_ends_the_waits_of_other_threads(master):
    client = TCPStore("127.0.0.1", master.port, timeout=LONG)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.get, "never")
        client.set("a", "1")
        client.close()
        with pytest.raises(PeerLostError):
            waiting.result(20)


def test_a_connection_that_is_made_while_the_store_closes_is_closed_too(master, monkeypatch):
    client, made, real = TCPStore("127.0.0.1", master.port, timeout=LONG), [], tcp_store.connect

    def connect_while_closing(*arguments):
        made.append(real(*arguments))
        client.close()
        return made[-1]

    monkeypatch.setattr(tcp_store, "connect", connect_while_closing)
    with client._connection(), pytest.raises(UsageError, match="was closed"):
        client.get("never")
    assert made[0]._sock.fileno() == -1


def test_an_address_that_swallows_packets_leaves_time_for_the_next(monkeypatch):
    real = socket.getaddrinfo

    def two_addresses(host, port, *rest, **named):
        hosts = ("127.0.0.2", "127.0.0.1") if host == "gpu-01" else (host,)
        return [info for one in hosts for info in real(one, port, *rest, **named)]

    monkeypatch.setattr(connection, "ATTEMPT_S", 1.0)
    with (
        TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG, secret=b"s") as master,
        socket.create_server(("127.0.0.2", master.port), backlog=0),
        contextlib.ExitStack() as crowd,
    ):
        while fill_backlog("127.0.0.2", master.port, crowd):
            pass
        monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
        with TCPStore("gpu-01", master.port, timeout=timedelta(seconds=5), secret=b"s") as client:
            client.set("a", "1")
        assert master.get("a") == b"1"


def fill_backlog(host, port, crowd):
    """One more that waits to be taken; False once the kernel drops what comes."""
    sock = crowd.enter_context(socket.socket())
    sock.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        sock.connect((host, port))
        return True
    return False


def test_a_store_that_is_let_go_closes_its_port():
    store = TCPStore("127.0.0.1", 0, is_master=True)
    port = store.port
    del store
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=HANGS_AFTER_S)


def test_the_master_waits_for_its_workers():
    with ThreadPoolExecutor() as pool:
        with socket.create_server(("127.0.0.1", 0), backlog=10) as sock:
            descriptor = sock.detach()
            port = socket.socket(fileno=os.dup(descriptor))
            number = port.getsockname()[1]
            port.close()
        master = pool.submit(
            TCPStore, "127.0.0.1", number, 3, is_master=True, timeout=LONG, master_listen_fd=descriptor
        )
        workers = [TCPStore("127.0.0.1", number, 3, timeout=LONG) for _ in range(2)]
        with master.result(20) as store:
            assert store.num_keys() == 1  # the one in which they count themselves
            for worker in workers:
                worker.close()


def test_workers_that_do_not_come_are_counted(monkeypatch):
    monkeypatch.setattr(tcp_store, "time", HastyClock(LONG))
    with pytest.raises(WaitTimeoutError, match=r"waited 20 s for the 3 workers of the store at 127.0.0.1 .*: 1 came"):
        TCPStore("127.0.0.1", 0, 3, is_master=True, timeout=LONG)


def test_several_processes_meet(master):
    code = f"""
import sys
from railgauge.transports.store import TCPStore
rank = int(sys.argv[1])
with TCPStore("127.0.0.1", {master.port}) as store:
    store.set(f"rank{{rank}}", str(rank))
    assert store.multi_get([f"rank{{n}}" for n in range(4)]) == [str(n).encode() for n in range(4)]
    print(store.add("done", 1))
"""
    processes = [subprocess.Popen([sys.executable, "-c", code, str(rank)]) for rank in range(4)]
    assert [process.wait(HANGS_AFTER_S) for process in processes] == [0] * 4
    assert master.get("done") == b"4"
