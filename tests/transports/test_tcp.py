# SPDX-License-Identifier: Apache-2.0
"""Sockets that listen and connect."""

import socket
import subprocess
import sys
import time

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.transports import tcp


def soon():
    return time.monotonic() + HANGS_AFTER_S


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_is_made_from_the_address_that_was_asked_for(host):
    with tcp.listen(host) as listener, tcp.connect(listener.getsockname(), soon(), host) as sock:
        taken, source = listener.accept()
        taken.close()
        assert source == sock.getsockname()
        assert source[0] == host


def test_one_that_meets_itself_is_refused(monkeypatch):
    with tcp.listen("127.0.0.1") as free:
        target = free.getsockname()
    monkeypatch.setattr(tcp, "socket_address", lambda _host, _port: target)  # as the kernel may choose by chance
    with pytest.raises(ConnectionRefusedError, match="Connection refused"):
        tcp.connect(target, soon(), "127.0.0.1")


def test_a_name_is_no_address():
    with pytest.raises(OSError, match=r"not known|not supported"):
        tcp.socket_address("localhost", 80)


def test_what_is_no_longer_connected_has_a_name():
    with socket.socket() as sock:
        assert tcp.peer_name(sock) == "a peer that is gone"
    for end in (pair := socket.socketpair()):
        assert tcp.peer_name(end) == "a local socket"
    for end in pair:
        end.close()


def test_the_limit_of_open_files_is_raised_once():
    program = (
        "import resource; from railgauge.transports.tcp import allow_many_files as allow;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 90));"
        "print(allow(), allow(), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False (90, 90)\n"
