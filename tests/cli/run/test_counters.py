# SPDX-License-Identifier: Apache-2.0
"""run --counters: bytes that pass where the plan says are a PASS, those that the kernel sends another way a FAIL that
names both links, and what no counter tells is UNKNOWN.
"""

import json

import pytest
from tests.cli.command import in_process, refused, run
from tests.cli.run.test_hosts import document, ended, ip, runs, start, two_nodes_here
from tests.cli.test_schemas import check
from tests.hosts.netns import make_hosts
from tests.hosts.waiting import until

MUCH = ("-b", "4M", "-e", "4M", "-n", "2", "--counters")
RAILS = {"NCCL_SOCKET_IFNAME": "eth0,eth1"}
SECOND = ("10.78.0.1", "10.78.0.2")
"""The addresses of the second rail."""
WITHOUT_SYSFS = ("sh", "-c", 'mount -t tmpfs none /sys/class/net && exec "$@"', "sh")


@pytest.fixture(scope="module")
def hosts():
    """Two hosts with two rails."""
    with make_hosts(2) as made:
        ip(made, 0, *["link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns"], made.namespaces[1])
        for host, address in enumerate(SECOND):
            ip(made, host, "address", "add", f"{address}/24", "dev", "eth1")
            ip(made, host, "link", "set", "eth1", "up")
        until(lambda: all(runs(made, host, "eth1") for host in (0, 1)))
        yield made


def levels(got):
    return {(one["host"], one["link"], one["way"]): one["level"] for one in got["counters"]["links"]}


def test_traffic_of_two_rails_passes_as_planned(hosts):
    got = document(start(hosts, (0, 1), *MUCH, "--json", **RAILS))
    nodes, rails = ("rg-node1", "rg-node2"), ("eth0", "eth1")
    assert levels(got) == {(n, r, w): "PASS" for n in nodes for r in rails for w in ("sent", "received")}
    planned = sum(one["planned_bytes"] for one in got["counters"]["links"] if one["way"] == "sent")
    assert planned == sum(c["bytes_sent"] for c in got["connections"])
    assert all(1 < one["ratio"] < 1.2 for one in got["counters"]["links"])
    assert {one["level"] for one in got["counters"]["findings"]} == {"PASS"}
    check("run", got)


def test_a_route_that_leads_by_the_other_rail_is_a_fail_that_names_both(hosts):
    ip(hosts, 0, "rule", "add", "to", SECOND[1], "lookup", "77")
    ip(hosts, 0, "route", "add", SECOND[1], "via", hosts.addresses[1], "dev", "eth0", "table", "77")
    try:
        first, second = ended(start(hosts, (0, 1), *MUCH, "--json", **RAILS))
    finally:
        ip(hosts, 0, "rule", "delete", "to", SECOND[1], "lookup", "77")
    assert (first[0], second[0]) == (4, 0)
    got = json.loads(first[1])
    check("run", got)
    failed = {name: one for name, one in levels(got).items() if one != "PASS"}
    assert failed == {("rg-node1", "eth1", "sent"): "FAIL", ("rg-node2", "eth1", "received"): "FAIL"}
    assert got["error"].startswith("traffic-elsewhere: planned bytes were not counted on rg-node1 eth1 (sent)")
    assert "FAIL traffic-elsewhere: eth1 of rg-node1 should send" in first[2]
    assert "eth0 sent" in first[2]


def test_the_nodes_of_one_host_move_their_bytes_over_lo_whatever_the_plan_says(hosts):
    by_rank = ({"NCCL_HOSTID": "a"}, {"NCCL_HOSTID": "b"})
    first, _ = ended(start(hosts, (0, 0), *MUCH, by_rank=by_rank, NCCL_SOCKET_IFNAME="eth0"))
    assert first[0] == 4
    assert "eth0 of rg-node1 should send" in first[2]
    assert "lo sent" in first[2]
    assert [line.split()[-1] for line in first[1].splitlines() if " eth0 " in line] == ["FAIL", "FAIL"]


def test_nodes_that_are_planned_over_lo_pass():
    got = document(two_nodes_here(2, *MUCH, "--json"))
    assert {(link, way): level for (_, link, way), level in levels(got).items()} == {
        ("lo", "sent"): "PASS",
        ("lo", "received"): "PASS",
    }


def test_counters_that_cannot_be_read_are_unknown_and_no_failure(hosts, monkeypatch):
    own = hosts.command
    monkeypatch.setattr(hosts, "command", lambda host, command: own(host, [*WITHOUT_SYSFS, *command]))
    got = document(start(hosts, (0, 1), *MUCH, "--json"))
    assert {one["level"] for one in got["counters"]["links"]} == {"UNKNOWN"}
    assert {one["why"] for one in got["counters"]["links"]} == {"no such counters found"}


def test_shared_memory_has_no_counter_and_says_so():
    done = run("--ranks", "2", *MUCH)
    assert done.returncode == 0, done.stderr
    assert "UNKNOWN traffic-elsewhere: shared memory: memory has no counter" in done.stderr
    lines = [line for line in done.stdout.splitlines() if "shared memory" in line]
    assert [line.split()[-3:] for line in lines] == [["-", "-", "UNKNOWN"]]


def test_it_is_no_part_of_tune():
    done = refused("--ranks", "2", "--tune", "--counters")
    assert done.returncode == 2
    assert "--counters" in done.stderr


@pytest.mark.parametrize("name", ["traffic-elsewhere", "traffic-errors"])
def test_its_findings_are_explained(name):
    done = in_process("explain", name)
    assert (done.returncode, done.stdout.startswith(f"{name}: ")) == (0, True)
