# SPDX-License-Identifier: Apache-2.0
"""railgauge link and cluster link over several hosts (network namespaces), some of whose links are made slow."""

import json
import shutil
import subprocess

import pytest
from tests.cli.command import clean_environment, command
from tests.cli.run.test_hosts import assert_nothing_left, ended, ip, place, runs
from tests.cli.test_schemas import check
from tests.hosts.netns import Hosts, make_hosts
from tests.hosts.sshd import sshd_on
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S

SMALL = ("-b", "64K", "-n", "4", "--timeout", "60")
HOSTS = 5
SLOW = ("tbf", "rate", "20mbit", "burst", "32kb", "latency", "50ms")
SLOW_BUT_FOR_ANSWERS = ("tbf", "rate", "200mbit", "burst", "128kb", "latency", "50ms")
"""TCP's acknowledgements of what comes back at 3.5 GB/s take 30 Mb/s: fewer would make that direction slow too."""


@pytest.fixture
def hosts():
    with make_hosts(HOSTS) as made:
        yield made
        assert_nothing_left(made)


def tc(hosts: Hosts, host: int, *arguments: str) -> None:
    """Slow the network of a host down; skips the test where the kernel cannot."""
    if shutil.which("tc") is None:
        pytest.skip("no slow link: tc is not installed")
    done = subprocess.run(
        ["tc", "-n", hosts.namespaces[host], *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no slow link: tc {' '.join(arguments)}: {done.stderr.strip()}")


def link(hosts: Hosts, *args: str, status: int = 0, **env: str) -> dict:
    """The document of a rank on each host."""
    ranks = [
        hosts.start(
            host,
            command("link", *SMALL, "--json", *args),
            env=place(host, HOSTS, hosts.addresses[0], **env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for host in range(HOSTS)
    ]
    (first, out, err), *others = ended(ranks)
    assert (first, [each[0] for each in others]) == (status, [0] * (HOSTS - 1)), (err, others)
    got = json.loads(out)
    check("link", got)
    assert [rank["host"] for rank in got["ranks"]] == hosts.names
    return got


def slow(got: dict) -> list[tuple[str, str]]:
    """What has less than half of the usual bandwidth: on a busy machine others may have less for other reasons."""
    return [(finding["id"], finding["subject"]) for finding in got["findings"] if finding["level"] == "FAIL"]


def test_a_slow_host_is_named(hosts):
    tc(hosts, 2, "qdisc", "add", "dev", "eth0", "root", *SLOW)
    got = link(hosts, status=1)
    assert slow(got)[0] == ("slow-node", "rg-node3")
    assert {one["via"] for one in got["links"]} == {"NET/Socket/0"}
    assert all(one["measured"] >= 4 for one in got["links"] if 2 in (one["from"], one["to"]))


def test_a_slow_link_is_named_with_its_direction(hosts):
    """The second host reaches the fourth by a slow wire of their own, and is reached by the usual one."""
    peer = ("type", "veth", "peer", "name", "eth1", "netns", hosts.namespaces[3])
    ip(hosts, 1, "link", "add", "eth1", *peer)
    for host in (1, 3):
        ip(hosts, host, "link", "set", "eth1", "up")
        hosts.run(host, ["sh", "-c", "echo 0 | tee /proc/sys/net/ipv4/conf/*/rp_filter"])
    ip(hosts, 1, "route", "add", f"{hosts.addresses[3]}/32", "dev", "eth1", "src", hosts.addresses[1])
    tc(hosts, 1, "qdisc", "add", "dev", "eth1", "root", *SLOW_BUT_FOR_ANSWERS)
    got = link(hosts, "--one-at-a-time", "-b", "256K", status=1)
    assert ("slow-link", "rg-node2 - rg-node4") in slow(got)
    assert "slow-node" not in dict(slow(got))
    assert "only from rg-node2 to rg-node4" in next(
        f["message"] for f in got["findings"] if f["subject"] == "rg-node2 - rg-node4"
    )


def test_the_slow_host_by_halves(hosts):
    tc(hosts, 3, "qdisc", "add", "dev", "eth0", "root", *SLOW)
    got = link(hosts, "--bisect", "-b", "512K", status=1)
    assert slow(got) == [("slow-node", "rg-node4")]
    assert got["bisection"]["slow"] == [3]


def test_cluster_link_measures_every_rail_between_the_nodes(tmp_path):
    with make_hosts(2) as hosts:
        peer = ("type", "veth", "peer", "name", "eth1", "netns", hosts.namespaces[1])
        ip(hosts, 0, "link", "add", "eth1", *peer)
        for host, address in enumerate(("10.78.0.1", "10.78.0.2")):
            ip(hosts, host, "address", "add", f"{address}/24", "dev", "eth1")
            ip(hosts, host, "link", "set", "eth1", "up")
        until(lambda: all(runs(hosts, host, "eth1") for host in (0, 1)))
        with sshd_on(hosts, tmp_path) as environ:
            wanted = ("-w", "rg-node[1-2]", "rg-node2", "rg-node1", "-x", "NCCL_SOCKET_IFNAME=eth0,eth1")
            done = hosts.run(
                0, command("cluster", "link", *wanted, *SMALL, "--json"), env=clean_environment(**only_ssh(environ))
            )
        assert done.returncode in (0, 1), done.stderr  # a busy machine's wires may be slow
    got = json.loads(done.stdout)
    check("link", got)
    assert done.returncode == any(finding["level"] in ("WARN", "FAIL") for finding in got["findings"])
    assert [rank["host"] for rank in got["ranks"]] == ["rg-node1", "rg-node2"]
    ways = [(one["rail"], one["from"], one["via"]) for one in got["links"]]
    assert ways == [(rail, rank, f"NET/Socket/{rail}") for rail in (0, 1) for rank in (0, 1)]


def only_ssh(environ: dict[str, str]) -> dict[str, str]:
    return {"RAILGAUGE_SSH": environ["RAILGAUGE_SSH"]}
