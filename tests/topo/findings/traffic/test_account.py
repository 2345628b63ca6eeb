# SPDX-License-Identifier: Apache-2.0
"""Planned beside seen: PASS only where the bytes were counted, FAIL only where they were seen elsewhere."""

import json

import pytest
from tests.topo.findings.traffic.links import link

from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.traffic.account import MEMORY, account
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.topo.findings.traffic.rules import findings
from railgauge.topo.render.traffic import MOST_LINES, traffic_lines
from railgauge.transports.typed import jsonable, read_as

MB = 1_000_000
SENT, RECEIVED = ByteDirection.SENT, ByteDirection.RECEIVED


def judged(planned, *links, before=None):
    """Link traffic by link and way; all counters began at 1 unless said."""
    began = [link(one.name, 1, 1, packets=1, above=one.above, kind=one.kind) for one in links]
    return {(one.link, one.way): one for one in account(planned, before or began, links, "node")}


def test_bytes_that_passed_where_they_were_planned_are_a_pass():
    got = judged({("eth0", SENT): 100 * MB}, link("lo", 1, 1, 1), link("eth0", 105 * MB, 1, packets=70_000))
    assert list(got) == [("eth0", SENT)]
    one = got["eth0", SENT]
    assert (one.level, one.why, one.seen_bytes) == (Level.PASS, "", 105 * MB - 1)
    assert one.ratio == pytest.approx(1.05)


def test_other_traffic_is_tolerated_and_told():
    one = judged({("eth0", SENT): 100 * MB}, link("eth0", 300 * MB, 1, packets=70_001))["eth0", SENT]
    assert (one.level, one.why) == (Level.PASS, "and 193 MB beyond the plan")
    (told,) = findings([one])
    assert told.message == "eth0 of node sent 3.00 x the 100 MB of the plan, and 193 MB beyond the plan"


def test_headers_of_small_packets_are_no_other_traffic():
    one = judged({("eth0", SENT): 2 * MB}, link("eth0", 20 * MB, 1, packets=200_000))["eth0", SENT]
    assert (one.level, one.why) == (Level.PASS, "")


@pytest.mark.parametrize("seen", [1, 40 * MB])
def test_bytes_that_were_seen_on_another_link_are_a_fail_that_names_both(seen):
    planned = {("eth0", SENT): 100 * MB, ("eth1", SENT): 100 * MB}
    got = judged(planned, link("eth0", 205 * MB - seen, 1), link("eth1", seen, 1, packets=2), link("lo", 1, 1))
    assert {name: one.level for (name, _), one in got.items()} == {"eth0": Level.PASS, "eth1": Level.FAIL}
    assert list(got["eth1", SENT].elsewhere_bytes) == ["eth0"]
    (failed,) = [one for one in findings(list(got.values())) if one.level is Level.FAIL]
    assert (failed.id, failed.subject, failed.host) == ("traffic-elsewhere", "eth1", "node")
    assert "eth1 of node should send 100 MB" in failed.message
    assert "eth0 sent" in failed.message
    assert "ip route get" in failed.remedy


def test_only_the_same_way_counts():
    got = judged({("eth1", SENT): 100 * MB}, link("eth0", 2, 100 * MB), link("eth1", 2, 2, packets=2))
    assert got["eth1", SENT].level is Level.UNKNOWN


def test_the_ports_of_a_bond_are_not_elsewhere():
    links = (link("bond0", 110 * MB, 1), link("eth0", 60 * MB, 1, above=("bond0",)), link("eth1", 50 * MB, 1))
    got = judged({("bond0", SENT): 100 * MB}, *links)
    assert got["bond0", SENT].level is Level.PASS
    assert got["eth0", SENT].why == "counts the traffic of bond0"
    # A VLAN that counts nothing, above a NIC that does: the same bytes, so that no other way is shown.
    stacked = (link("eth0", 100 * MB, 1, above=("bond0",)), link("bond0", 1, 1, above=("vlan5",)), link("vlan5", 1, 1))
    assert judged({("vlan5", SENT): 90 * MB}, *stacked)["vlan5", SENT].level is Level.UNKNOWN


def test_bytes_that_no_link_saw_are_unknown():
    got = judged({("eth1", SENT): 100 * MB}, link("eth0", 10 * MB, 1), link("eth1", 2, 1, packets=2))
    assert got["eth1", SENT].level is Level.UNKNOWN
    assert "and no other link of this host counted it" in got["eth1", SENT].why


def test_counters_that_never_counted_are_unknown_whatever_others_say():
    dead = [link("eth1", packets=0), link("eth0", 1, 1)]
    got = judged({("eth1", SENT): 100 * MB}, link("eth1", packets=0), link("eth0", 110 * MB, 1), before=dead)
    assert (got["eth1", SENT].level, got["eth1", SENT].why) == (
        Level.UNKNOWN,
        "its counters are still zero",
    )


def test_too_little_to_tell_from_other_traffic_is_unknown():
    assert judged({("eth0", SENT): 5000}, link("eth0", 9000, 1))["eth0", SENT].level is Level.UNKNOWN


def test_a_plan_beyond_what_a_counter_holds_is_unknown():
    counter = link("GPU0 PCIe", 10 * MB, 1, kind=CounterKind.PCIE, wraps_at=1 << 32)
    assert judged({("GPU0 PCIe", SENT): 5000 * MB}, counter)["GPU0 PCIe", SENT].level is Level.UNKNOWN


def test_memory_and_links_without_counters_are_unknown():
    got = judged({(MEMORY, SENT): 9 * MB, ("eth7", RECEIVED): 9 * MB})
    assert {(one.kind, one.level, one.why) for one in got.values()} == {
        (CounterKind.MEMORY, Level.UNKNOWN, "memory has no counter"),
        (CounterKind.INTERFACE, Level.UNKNOWN, "no such counters found"),
    }
    assert {one.level for one in findings(list(got.values()))} == {Level.UNKNOWN}


def test_much_traffic_over_a_link_without_a_plan_is_told_and_no_finding():
    got = judged({("eth0", SENT): 10 * MB}, link("eth0", 11 * MB, 1), link("mlx5_0:1", 1, 90 * MB), link("lo", 9, 9))
    assert (got["mlx5_0:1", RECEIVED].level, len(got)) == (Level.INFO, 2)
    assert len(findings(list(got.values()))) == 1


@pytest.mark.parametrize(("counts", "level"), [({"errors": 3, "dropped": 1}, Level.WARN), ({"dropped": 2}, Level.INFO)])
def test_errors_are_a_finding_of_their_own(counts, level):
    one = LinkTraffic(
        host="node",
        link="eth0",
        kind=CounterKind.INTERFACE,
        way=RECEIVED,
        planned_bytes=10 * MB,
        seen_bytes=11 * MB,
        level=Level.PASS,
        **counts,
    )
    passing, errors = findings([one])
    assert (passing.level, errors.id, errors.level) == (Level.PASS, "traffic-errors", level)
    assert f"dropped by {counts['dropped']}" in errors.message


def test_link_traffic_travels_to_another_rank():
    for one in judged({("eth0", SENT): 100 * MB}, link("eth0", 5 * MB, 1), link("lo", 200 * MB, 1)).values():
        assert read_as(LinkTraffic, json.loads(json.dumps(one, default=jsonable))) == one


def test_of_many_lines_the_odd_ones_are_shown():
    planned = {(f"eth{number}", SENT): 100 * MB for number in range(100)}
    links = [link(f"eth{number}", 1 if number == 88 else 101 * MB, 1, packets=2) for number in range(100)]
    lines = traffic_lines(list(judged(planned, *links, link("lo", 99 * MB)).values()))
    assert len(lines) == MOST_LINES + 2
    assert "eth88 " in lines[1]
    assert lines[1].endswith("FAIL")
    assert lines[-1] == f"... and {100 - MOST_LINES} more (--json has all)"
