# SPDX-License-Identifier: Apache-2.0
"""The hosts that other tests use are as described."""

import subprocess
import time
from pathlib import Path

from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

LISTEN = "import socket; s = socket.create_server(('', 7000)); print('up', flush=True); s.accept()[0].sendall(b'hello')"
ASK = "import socket; print(socket.create_connection(('rg-node2', 7000), 5).recv(5).decode())"


def test_hosts_have_names_and_reach_each_other_by_them():
    with make_hosts(2) as hosts:
        assert [hosts.run(i, ["hostname"]).stdout.strip() for i in (0, 1)] == hosts.names
        server = hosts.start(1, ["python3", "-c", LISTEN], stdout=subprocess.PIPE)
        server.stdout.readline()
        assert hosts.run(0, ["python3", "-c", ASK]).stdout == "hello\n"


def test_nothing_is_left_of_a_host():
    with make_hosts(1) as hosts:
        sleeper = hosts.start(0, ["sleep", "1000"])
        while not hosts.pids(0):
            time.sleep(0.01)
    assert sleeper.wait(HANGS_AFTER_S) == -9
    assert not Path("/run/netns", hosts.namespaces[0]).exists()
    assert not Path("/etc/netns", hosts.namespaces[0]).exists()


def test_a_host_that_is_cut_off_answers_nothing():
    with make_hosts(2) as hosts:
        hosts.cut(1)
        asked = hosts.run(0, ["python3", "-c", ASK.replace("5)", "0.5)")])
        assert "timed out" in asked.stderr or "No route" in asked.stderr
