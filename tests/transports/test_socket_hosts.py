# SPDX-License-Identifier: Apache-2.0
"""Data over NET/Socket between two hosts (network namespaces) comes right or ends clearly, whatever happens on the way:
with one socket that the rank moves by itself, and with several and helper threads.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hosts.bad_wire import bad_wire
from tests.hosts.netns import make_hosts
from tests.patience import FAR_S, HANGS_AFTER_S

PROGRAM = Path(__file__).with_name("socket_rank.py")
SHAPES = {"rank": {}, "helpers": {"NCCL_SOCKET_NTHREADS": "2", "NCCL_NSOCKS_PERTHREAD": "2"}}
MIB = (1 << 20) // 4
EXTRA = ("10.78.0.1", "10.78.0.2")
each_shape = pytest.mark.parametrize("shape", list(SHAPES))


@pytest.fixture(scope="module")
def hosts():
    """Two hosts with a second wire, eth1."""
    with make_hosts(2) as made:
        peer = ("type", "veth", "peer", "name", "eth1", "netns", made.namespaces[1])
        ip(made, 0, "link", "add", "eth1", *peer)
        for host, address in enumerate(EXTRA):
            ip(made, host, "address", "add", f"{address}/24", "dev", "eth1")
            ip(made, host, "link", "set", "eth1", "up")
        yield made


def ip(hosts, host, *arguments):
    subprocess.run(["ip", "-n", hosts.namespaces[host], *arguments], check=True, timeout=HANGS_AFTER_S)


class Pair:
    """Two ranks at work."""

    def __init__(self, hosts, shape, *, count=MIB, timeout_s=20.0, rails=None):
        self.ranks = []
        for host in (0, 1):
            here = [rail[host] for rail in rails or [[f"eth0={address}" for address in hosts.addresses]]]
            self.ranks.append(
                hosts.start(
                    host,
                    [sys.executable, "-P", str(PROGRAM), str(host), str(timeout_s), str(count), *here],
                    env=os.environ | SHAPES[shape],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        where = [rank.stdout.readline() for rank in self.ranks]
        for rank, other in zip(self.ranks, reversed(where), strict=True):
            rank.stdin.write(other)
            rank.stdin.flush()
        self.lines([0, 1])  # both are connected

    def lines(self, ranks, count=3):
        """The next lines, each that of an operation that was right."""
        for rank in ranks:
            for _ in range(count):
                line = self.ranks[rank].stdout.readline()
                assert line.startswith("right "), line

    def last(self, rank):
        """How it ended."""
        for line in self.ranks[rank].stdout:
            if not line.startswith("right "):
                return line.strip()
        return "nothing was said"

    def close(self):
        for rank in self.ranks:
            with rank:
                rank.kill()


@pytest.fixture
def start(hosts):
    pairs = []

    def begin(shape, **options):
        pairs.append(Pair(hosts, shape, **options))
        return pairs[-1]

    yield begin
    for pair in pairs:
        pair.close()


def received(hosts, host, device):
    """Bytes that came in by an interface."""
    done = hosts.run(host, ["cat", "/proc/net/dev"])
    line = next(line for line in done.stdout.splitlines() if line.strip().startswith(f"{device}:"))
    return int(line.split(":")[1].split()[0])


@each_shape
@pytest.mark.parametrize("count", [1, 3, 65537, 3 * MIB + 5])
def test_data_is_right(start, shape, count):
    start(shape, count=count).lines([0, 1])


@each_shape
def test_data_is_right_over_ipv6(start, hosts, shape):
    start(shape, rails=[["eth0=fd77::1", "eth0=fd77::2"]]).lines([0, 1])


@each_shape
def test_two_interfaces_carry_half_each(start, hosts, shape):
    before = [received(hosts, 1, device) for device in ("eth0", "eth1")]
    rails = [[f"eth0={address}" for address in hosts.addresses], [f"eth1={address}" for address in EXTRA]]
    start(shape, rails=rails).lines([0, 1], count=10)
    moved = [received(hosts, 1, device) - old for device, old in zip(("eth0", "eth1"), before, strict=True)]
    assert min(moved) > 4 << 20  # of 14; what TCP sends again on a busy machine is counted too


@each_shape
@pytest.mark.parametrize(
    "what",
    [{"lose": 0.01}, {"delay_s": 0.01}, {"double": 0.05}, {"damage": 0.005}],
    ids=["loses", "delays and reorders", "doubles", "damages"],
)
def test_a_bad_network_changes_no_data(start, hosts, shape, what):
    with bad_wire(hosts, **what) as addresses:
        pair = start(shape, count=MIB // 4, rails=[[f"bad0={address}" for address in addresses]])
        pair.lines([0, 1], count=5)


@each_shape
def test_a_link_that_is_down_for_a_second_costs_time_only(start, hosts, shape):
    pair = start(shape)
    ip(hosts, 1, "link", "set", "eth0", "down")
    time.sleep(1.0)
    ip(hosts, 1, "link", "set", "eth0", "up")
    pair.lines([0, 1], count=50)


@each_shape
def test_packets_of_another_size_change_no_data(start, hosts, shape):
    pair = start(shape)
    for mtu in ("1280", "9000", "1500"):
        for host in (0, 1):
            ip(hosts, host, "link", "set", "eth0", "mtu", mtu)
        pair.lines([0, 1], count=10)


@each_shape
def test_a_link_that_stays_down_ends_both_ranks_within_the_timeout(start, shape):
    with make_hosts(2) as own:
        pair = Pair(own, shape, timeout_s=6.0)
        try:
            own.cut(1)
            for rank in (0, 1):
                assert f"rank {1 - rank}" in (said := pair.last(rank))
                assert said.startswith(("WaitTimeoutError", "PeerLostError")), said
        finally:
            pair.close()


@each_shape
def test_a_stopped_rank_is_named_by_the_other(start, shape):
    pair = start(shape, timeout_s=6.0)
    for process in everything_of(pair.ranks[1].pid):
        os.kill(process, signal.SIGSTOP)
    said = pair.last(0)
    assert said.startswith("WaitTimeoutError"), said
    assert "rank 1" in said


@each_shape
def test_a_rank_that_was_stopped_for_a_second_goes_on(start, shape):
    pair = start(shape)
    for signal_number in (signal.SIGSTOP, signal.SIGCONT):
        for process in everything_of(pair.ranks[1].pid):
            os.kill(process, signal_number)
        time.sleep(1.0)
    pair.lines([0, 1], count=50)


@each_shape
def test_a_killed_rank_is_noticed_at_once(start, shape):
    pair = start(shape, timeout_s=FAR_S)
    for process in everything_of(pair.ranks[1].pid):
        os.kill(process, signal.SIGKILL)
    said = pair.last(0)
    assert said.startswith("PeerLostError: rank 1 at "), said


def everything_of(pid):
    """A process and all that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(one for child in children for one in everything_of(int(child)))]
