# SPDX-License-Identifier: Apache-2.0
"""Processes of their own meet, on one host or two, or say who is missing and why."""

import re
import signal
import subprocess
import threading
import time

import pytest
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import meet_on
from tests.transports.rendezvous_process import process_command

from railgauge.topo.errors import RunError
from railgauge.transports.store.file_store import FileStore


@pytest.mark.parametrize(
    ("number", "problem"),
    [(signal.SIGKILL, r"rank 1 on \S+ is gone: its process ended"), (signal.SIGINT, "rank 1: interrupted")],
)
def test_a_process_that_dies_while_others_are_awaited_is_named(tmp_path, number, problem):
    path = tmp_path / "store"
    victim = subprocess.Popen(
        process_command(1, 3, 30, path, "NCCL_SOCKET_IFNAME=lo"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    store = FileStore(str(path))
    rendezvous = meet_on(store, 0, 3, timeout_s=30.0)

    def kill_once_joined():
        while not rendezvous._hub._members.get(1):
            time.sleep(0.02)
        victim.send_signal(number)

    threading.Thread(target=kill_once_joined).start()
    with pytest.raises(RunError, match=problem):
        rendezvous.join(0)
    victim.wait(HANGS_AFTER_S)
    rendezvous.close()
    store.close()


class TestTwoHosts:
    """Hosts that are network namespaces; the store is a file on the disk that they share."""

    def outcome(self, hosts, tmp_path, *, timeout_s, settings=(), before=lambda: None):
        path = tmp_path / "store"
        first = hosts.start(0, process_command(0, 2, timeout_s, path, *settings), stdout=subprocess.PIPE, text=True)
        before()
        second = hosts.run(1, process_command(1, 2, timeout_s, path, *settings))
        return first.communicate(timeout=HANGS_AFTER_S)[0], second.stdout

    @pytest.mark.parametrize(
        ("setting", "address"),
        [
            ("NCCL_DEBUG=WARN", "10.77.0.1:"),
            ("NCCL_SOCKET_FAMILY=AF_INET6", "[fd77::1]:"),
            ("NCCL_COMM_ID=10.77.0.1:4711", "10.77.0.1:4711"),
        ],
    )
    def test_they_meet(self, tmp_path, setting, address):
        with make_hosts(2) as hosts:
            for said in self.outcome(hosts, tmp_path, timeout_s=60, settings=[setting]):
                assert said.startswith(f"[0, 1] {address}")
                assert "(eth0 of rg-node1)" in said

    def test_a_firewall_that_rejects_is_named_on_both(self, tmp_path):
        with make_hosts(2) as hosts:
            assert hosts.run(1, ["ip", "route", "add", "unreachable", "10.77.0.1/32"]).returncode == 0
            first, second = self.outcome(hosts, tmp_path, timeout_s=30)
        problem = r"cannot connect to rank 0 at 10\.77\.0\.1:\d+ \(eth0 of rg-node1\): No route to host"
        assert re.match(f"PeerLostError: {problem}", second)
        assert re.match(f"RunError: rank 1 on rg-node2: {problem}", first)

    def test_a_firewall_that_drops_is_named_on_both(self, tmp_path):
        with make_hosts(2) as hosts:
            neighbour = ["ip", "neighbour", "replace", "10.77.0.1", "lladdr", "02:00:00:00:00:99", "dev", "eth0"]
            assert hosts.run(1, neighbour).returncode == 0  # packets go to nobody
            # Who gives up has a fifth of the timeout to tell; so much may the ranks' starts lie apart.
            first, second = self.outcome(hosts, tmp_path, timeout_s=30)
        problem = r"no answer from rank 0 at 10\.77\.0\.1:\d+ \(eth0 of rg-node1\) within (1\d|2[0-4])\.\d s"
        assert re.match(f"WaitTimeoutError: {problem}: a firewall drops", second)
        assert re.match(f"RunError: rank 1 on rg-node2: {problem}", first)

    def test_an_interface_that_the_other_host_cannot_reach_is_named(self, tmp_path):
        with make_hosts(2) as hosts:
            first, second = self.outcome(hosts, tmp_path, timeout_s=30, settings=["NCCL_SOCKET_IFNAME=lo"])
        assert re.match(r"UsageError: rank 0 listens at 127\.0\.0\.1:\d+ \(lo of rg-node1\), where no other", second)
        assert first.startswith("RunError: rank 1 on rg-node2: rank 0 listens at")
