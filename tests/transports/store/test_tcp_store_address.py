# SPDX-License-Identifier: Apache-2.0
"""Where a TCPStore listens, alone or as a rank's: its addresses, ports and names."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from datetime import timedelta

import pytest
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import UsageError
from railgauge.transports.store import TCPStore, listen

LONG = timedelta(seconds=20)


@contextlib.contextmanager
def standing_alone(*arguments, **environ):
    command = [sys.executable, "-m", "railgauge.transports.store.tcp_server", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_store_that_stands_alone_needs_its_host():
    with standing_alone() as process:
        assert "required: --host" in process.communicate(timeout=HANGS_AFTER_S)[1]
        assert process.returncode == 2


def test_a_store_stands_alone_until_it_is_interrupted():
    with standing_alone("--host", "127.0.0.1", "--port", "0", RAILGAUGE_SECRET="a s3cret of the test") as process:
        line = process.stderr.readline()
        port = int(re.fullmatch(r"A store on 127.0.0.1 port (\d+), with a job secret\n", line)[1])
        with TCPStore("127.0.0.1", port, secret=b"a s3cret of the test", timeout=LONG) as one:
            one.set("a", "1")
        with TCPStore("127.0.0.1", port, secret=b"a s3cret of the test", timeout=LONG) as two:
            assert two.get("a") == b"1"
        process.send_signal(signal.SIGINT)
        assert process.wait(HANGS_AFTER_S) == 130
        assert process.stderr.read() == ""


def test_interrupted_again_and_again_it_ends():
    for _ in range(3):
        with standing_alone("--host", "127.0.0.1", "--port", "0") as process:
            process.stderr.readline()
            for _ in range(50):
                process.send_signal(signal.SIGINT)
            assert process.wait(HANGS_AFTER_S) == 130
            assert process.stderr.read() == ""


def test_a_store_that_cannot_stand_says_why(master):
    with standing_alone("--host", "127.0.0.1", "--port", str(master.port)) as process:
        assert process.wait(HANGS_AFTER_S) == 2
        assert "is in use" in process.stderr.read()


def test_it_listens_on_its_address_alone(master):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", master.port), timeout=HANGS_AFTER_S)


LINK_LOCAL = """
import sys
from datetime import timedelta
from railgauge.transports.store import TCPStore
from railgauge.topo.errors import UsageError
with TCPStore("fe80::99%eth0", 0, is_master=True, timeout=timedelta(seconds=20)) as store:
    store.set("a", "1")
    with TCPStore("fe80::99%eth0", store.port, timeout=timedelta(seconds=20)) as client:
        print(client.get("a").decode())
"""


def test_a_link_local_address_keeps_its_interface():
    with make_hosts(2) as hosts:
        assert hosts.run(0, ["ip", "address", "add", "fe80::99/64", "dev", "eth0", "nodad"]).returncode == 0
        done = hosts.run(0, [sys.executable, "-P", "-c", LINK_LOCAL])
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize("is_master", [True, False])
def test_a_link_local_address_without_its_interface_is_told_at_once(is_master):
    with pytest.raises(UsageError, match=r"fe80::1 is link-local .*: fe80::1%IFACE"):
        TCPStore("fe80::1", 29500, is_master=is_master, timeout=LONG)


def test_an_address_of_another_host_is_refused_at_once_with_those_that_are_there():
    with pytest.raises(
        UsageError, match=r"192.0.2.9 is not an address of rank 0's host \(.+\); its addresses: .*127.0.0.1"
    ):
        TCPStore("192.0.2.9", 0, is_master=True, timeout=LONG)


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(UsageError, match=r"cannot resolve no-such-host.invalid"):
        TCPStore("no-such-host.invalid", 0, is_master=True, timeout=LONG)


@pytest.mark.parametrize(("port", "is_master"), [(70000, True), (-1, True), (70000, False), (0, False)])
def test_what_is_no_port_is_told(port, is_master):
    with pytest.raises(UsageError, match="a port is between 1 and 65535"):
        TCPStore("127.0.0.1", port, is_master=is_master, timeout=LONG)


def test_a_port_in_use_is_told(master):
    with pytest.raises(UsageError, match=rf"127.0.0.1 port {master.port} is in use .*another port"):
        TCPStore("127.0.0.1", master.port, is_master=True, timeout=LONG)


def test_a_port_is_free_again_at_once():
    port = 0
    for _ in range(3):
        with TCPStore("127.0.0.1", port, is_master=True) as master, TCPStore("127.0.0.1", master.port) as client:
            client.set("a", "1")
            port = master.port


def test_ipv6_is_an_address_like_others():
    if not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 here")
    with TCPStore("::1", 0, is_master=True) as master, TCPStore("::1", master.port) as client:
        client.set("a", "1")
        assert master.get("a") == b"1"


def test_localhost_is_loopback_only():
    sockets = listen.listen("localhost", 0)
    try:
        assert {sock.getsockname()[0] for sock in sockets} <= {"127.0.0.1", "::1"}
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
    finally:
        listen.close_all(sockets)


def test_a_name_of_a_loopback_address_is_listened_for_on_the_network_too(monkeypatch, caplog):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *rest, **kw: real("127.0.1.1" if host == "gpu-01" else host, *rest, **kw)
    )
    network = listen.bootstrap_interface(os.environ).address
    sockets = listen.listen("gpu-01", 0)
    try:
        assert [sock.getsockname()[0] for sock in sockets] == ["127.0.1.1", network]
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
    finally:
        listen.close_all(sockets)
    if not network.startswith("127."):
        assert "gpu-01 is a loopback address here" in caplog.text


def test_what_is_no_listening_socket_is_not_adopted(tmp_path):
    with pytest.raises(UsageError, match="not a socket"), open(tmp_path / "file", "w") as file:
        listen.adopt(file.fileno())
    with pytest.raises(UsageError, match="that does not listen"), socket.socket() as sock:
        listen.adopt(sock.fileno())
    with pytest.raises(UsageError, match="not a socket"):
        listen.adopt(9999)
