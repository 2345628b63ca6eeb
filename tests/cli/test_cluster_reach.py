# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster check of live nodes, which try whom they reach: hosts are network namespaces with several rails."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest
from tests.cli.command import clean_environment, command
from tests.cli.test_schemas import check
from tests.collectives.launch.remote_agent import remote_agent
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

from railgauge.cli.cluster.reach import try_reach
from railgauge.topo.findings.cluster.endpoints import Endpoint

RAILS = (1, 2, 3, 4, 5)
TRIED = ("ports-blocked", "rail-unreachable", "mtu-mismatch", "rp-filter-strict")
NODES = "rg-node[1-3]"
SYN_SENT = "02"  # /proc/net/tcp


@pytest.fixture(scope="module")
def hosts():
    """Three hosts on five rails beside eth0, whose routing rules come before the table of their own addresses."""
    with make_hosts(3) as made:
        for number in RAILS:
            made.add_rail(number)
        for host in range(3):
            made.ip(host, "rule", "add", "pref", "100", "lookup", "local")
            made.ip(host, "rule", "del", "pref", "0")
        yield made


@pytest.fixture
def environ(hosts, tmp_path):
    return clean_environment(RAILGAUGE_SSH=remote_agent(hosts, tmp_path))


def arguments(*more):
    chosen = (word for name in TRIED for word in ("--only", name))
    return command("cluster", "check", "-w", NODES, *chosen, "--json", *more)


def checked(environ, *more):
    done = subprocess.run(
        arguments(*more), env=environ, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    document = json.loads(done.stdout)
    check("findings", document)
    return done.returncode, document


def told(document, *levels):
    """Ids with their nodes and subjects."""
    found = document["findings"]
    return {(one["id"], one["host"], one["subject"]) for one in found if one["level"] in levels}


@contextlib.contextmanager
def broken(hosts):
    """A fault on each rail, for the time of the block."""
    with contextlib.ExitStack() as undo:

        def ip(host, *words):
            undo.callback(hosts.ip, host, *(_UNDO.get(word, word) for word in words))
            hosts.ip(host, *words)

        hosts.run(1, ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/eth1/forwarding"])  # or it tells nobody
        ip(1, "rule", "add", "pref", "10", "iif", "eth1", "ipproto", "tcp", "prohibit")  # as a firewall rejects
        ip(2, "route", "del", "10.78.2.0/24", "dev", "eth2", "proto", "kernel", "scope", "link", "src", "10.78.2.3")
        for host in range(3):  # a switch port with the smallest MTU; no segments are made of a long packet by the NIC
            hosts.ip(host, "link", "set", "eth3", "mtu", "9000", "gso_max_segs", "1")
            hosts.port(host, 3, "mtu", "9000" if host != 2 else "1500")
        undo.callback(hosts.port, 2, 3, "mtu", "9000")
        hosts.run(2, ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/eth4/rp_filter"])
        mac = json.loads(hosts.ip(2, "-j", "link", "show", "eth4"))[0]["address"]  # or not even ARP is answered
        hosts.ip(0, "neigh", "replace", "10.78.4.3", "lladdr", mac, "dev", "eth4", "nud", "permanent")
        ip(2, "route", "add", "10.78.4.1/32", "dev", "eth1")  # the way back is not the way there
        ip(0, "rule", "add", "pref", "10", "iif", "eth5", "ipproto", "tcp", "blackhole")  # as a firewall drops
        yield


_UNDO = {"add": "del", "del": "add"}


def test_nodes_that_reach_each_other_are_no_fault(environ):
    status, document = checked(environ, "--fail-on", "UNKNOWN")
    assert status == 0, document["findings"]
    assert not told(document, "WARN", "FAIL")
    assert {("ports-blocked", NODES, ""), ("rail-unreachable", NODES, "")} <= told(document, "PASS")
    assert [(row["over"], row["tried"], row["failed"]) for row in document["reach"]] == [
        (f"eth{number}", 6, []) for number in (0, *RAILS)
    ]


def test_each_fault_on_the_way_is_named_with_its_node_and_rail(hosts, environ):
    with broken(hosts):
        status, document = checked(environ)
    assert status == 1
    assert told(document, "FAIL") == {
        ("ports-blocked", "rg-node2", "rg-node2 over eth1"),
        ("rail-unreachable", "rg-node3", "rg-node3 over eth2"),
        ("mtu-mismatch", "rg-node3", "rg-node3 over eth3"),
        ("rp-filter-strict", "rg-node[1,3]", "rg-node1 <-> rg-node3 over eth4"),
        ("ports-blocked", "rg-node1", "rg-node1 over eth5"),
    }
    rejected = next(one for one in document["findings"] if one["subject"] == "rg-node2 over eth1")
    assert "113 No route to host" in rejected["message"]
    rows = {row["over"]: row["failed"] for row in document["reach"]}
    assert rows["eth0"] == []
    assert rows["eth3"] == [{"from": "rg-node3", "to": "rg-node[1-2]"}, {"from": "rg-node[1-2]", "to": "rg-node3"}]


def test_a_node_that_dies_meanwhile_is_named_and_nothing_is_left(hosts, environ):
    hosts.ip(2, "rule", "add", "pref", "10", "iif", "eth5", "ipproto", "tcp", "blackhole")
    try:
        with subprocess.Popen(arguments("--fail-on", "UNKNOWN"), env=environ, stdout=subprocess.PIPE) as process:
            kill_once_it_tries(hosts, 2)
            document = json.loads(process.communicate(timeout=HANGS_AFTER_S)[0])
    finally:
        hosts.ip(2, "rule", "del", "pref", "10")
    assert process.returncode == 1
    assert {one for one in told(document, "UNKNOWN") if one[0] == "rail-unreachable"} == {
        ("rail-unreachable", "rg-node3", "")
    }
    assert not told(document, "WARN", "FAIL")
    assert {row["nodes"] for row in document["reach"]} == {"rg-node[1-2]"}
    assert not any(hosts.pids(host) for host in range(3))


STAND_IN = """\
#!/bin/sh
case "$*" in *gone*) echo "no module named railgauge" >&2; exit 3;; esac
read task
echo '{"ports": [1]}'
read others
echo '{"failures": [], "untried": [], "filtered": 0}'
cat
"""
"""In place of ssh: a node that reaches all others, or one that has no railgauge."""


@pytest.mark.parametrize("gone", [set(), {"gone1"}, {"gone1", "gone2"}])
def test_nodes_that_end_before_they_try_are_named_with_the_reason_and_the_others_go_on(tmp_path, monkeypatch, gone):
    ssh = tmp_path / "ssh"
    ssh.write_text(STAND_IN)
    ssh.chmod(0o755)
    monkeypatch.setenv("RAILGAUGE_SSH", str(ssh))
    there, done = {"gpu1", "gpu2"}, []
    nodes = {name: (Endpoint(interface="eth0", address="10.0.0.1", uses=()),) for name in there | gone}
    reach = try_reach({name: name for name in nodes}, nodes, frozenset(), HANGS_AFTER_S, done.append)
    assert reach.silent == dict.fromkeys(gone, "railgauge ended there with status 3: no module named railgauge")
    assert reach.filtered == dict.fromkeys(there, 0)
    assert (reach.failures, reach.untried, sorted(done)) == ((), frozenset(), [["gpu1"], ["gpu2"]])


def test_last_words_that_are_no_text_are_shown(monkeypatch, tmp_path):
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nprintf 'no module: \\377\\376' >&2\nexit 3\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("RAILGAUGE_SSH", str(ssh))
    reach = try_reach({"gpu1": "gpu1"}, {"gpu1": ()}, frozenset(), HANGS_AFTER_S, lambda _names: None)
    assert reach.silent == {"gpu1": "railgauge ended there with status 3: no module: \ufffd\ufffd"}


def kill_once_it_tries(hosts, host):
    """End the node's process as soon as it has a connection under way."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while time.monotonic() < deadline:
        rows = [line.split() for line in hosts.run(host, ["cat", "/proc/net/tcp"]).stdout.splitlines()]
        if any(row[3] == SYN_SENT for row in rows):
            for pid in hosts.pids(host):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.05)
    pytest.fail("it never tried")
