# SPDX-License-Identifier: Apache-2.0
"""What is made of connections that failed, by made-up records: which rule, who is at fault, and how bad it is."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.findings.cluster.endpoints import Endpoint
from railgauge.topo.findings.cluster.planned import Planned
from railgauge.topo.findings.cluster.reach import ClusterReach, FailedConnection, Hint, Stage, ways
from railgauge.topo.findings.cluster.rules.reachability import TRIED, judge, not_tried
from railgauge.topo.findings.cluster.suspects import SuspectPart, suspects
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node import ports_blocked
from railgauge.topo.render.reach import matrix_lines, matrix_record

NAMES = [f"gpu{number}" for number in range(1, 7)]
PAIRS = [(one, two) for one in NAMES for two in NAMES if one != two]


def nodes(*rails, count=3, **facts):
    """Nodes with an interface for each rail, called eth0, eth1, ..."""
    return {
        f"gpu{number}": tuple(
            Endpoint(interface=f"eth{place}", address=f"10.0.{place}.{number}", uses=(use,), **facts)
            for place, use in enumerate(rails)
        )
        for number in range(1, count + 1)
    }


def failure(source, target, number=errno.ETIMEDOUT, place=0, **known):
    known = {"stage": Stage.CONNECT, "seconds": 4.0, "port": 40000} | known
    return FailedConnection(source=source, target=target, way=(place, place), errno=number, **known)


def found(reach, plan=None):
    """Level, id and nodes of what is told, but for PASS."""
    findings = judge(reach, plan or Planned()).findings
    return {(one.level, one.id, one.host) for one in findings if one.level is not Level.PASS}


@given(st.sets(st.sampled_from(PAIRS)), st.sets(st.sampled_from(PAIRS)))
def test_each_failure_is_told_once(failed, tried):
    named = list(suspects(failed, failed | tried))
    assert sorted(pair for one in named for pair in one.failed) == sorted(failed)
    assert all(len(one.failed) <= one.of for one in named)


@given(st.sampled_from(NAMES), st.sampled_from([SuspectPart.INTO, SuspectPart.OUT_OF, SuspectPart.BOTH]))
def test_a_node_that_all_its_connections_fail_of_is_named_alone(node, part):
    into = {(name, node) for name in NAMES if name != node}
    out_of = {pair[::-1] for pair in into}
    failed = {SuspectPart.INTO: into, SuspectPart.OUT_OF: out_of, SuspectPart.BOTH: into | out_of}[part]
    assert [(one.part, one.nodes) for one in suspects(failed, set(PAIRS))] == [(part, (node,))]


@pytest.mark.parametrize("count", range(1, 6))
def test_a_node_is_named_for_more_than_half_of_its_connections_in_a_direction(count):
    """Of 5: for 3, 4 and 5."""
    into = [(name, "gpu1") for name in NAMES[1:]][:count]
    for failed, part in ((into, SuspectPart.INTO), ([pair[::-1] for pair in into], SuspectPart.OUT_OF)):
        told = [(one.part, one.nodes) for one in suspects(set(failed), set(PAIRS))]
        assert told == ([(part, ("gpu1",))] if count > 2 else [(SuspectPart.PAIR, pair) for pair in sorted(failed)])


def test_a_node_is_not_named_for_half_of_its_connections_nor_for_one():
    four = {pair for pair in PAIRS if not {"gpu6"} & set(pair)}
    half = {("gpu2", "gpu1"), ("gpu3", "gpu1")}  # of 4
    assert [one.part for one in suspects(half, four)] == [SuspectPart.PAIR, SuspectPart.PAIR]
    two = {("gpu1", "gpu2"), ("gpu2", "gpu1")}
    assert [one.part for one in suspects({("gpu1", "gpu2")}, two)] == [SuspectPart.PAIR]


def test_a_pair_and_a_whole_rail_are_nobodys_fault_alone():
    (pair,) = suspects({("gpu1", "gpu2"), ("gpu2", "gpu1")}, set(PAIRS))
    assert (pair.part, pair.nodes, pair.of) == (SuspectPart.PAIR, ("gpu1", "gpu2"), 2)
    (everyone,) = suspects(set(PAIRS), set(PAIRS))
    assert (everyone.part, everyone.of) == (SuspectPart.ALL, 30)


@pytest.mark.parametrize(
    ("known", "identifier"),
    [
        ({"number": errno.EHOSTUNREACH, "seconds": 0.01}, "ports-blocked"),
        ({"number": errno.EHOSTUNREACH, "seconds": 3.1}, "rail-unreachable"),
        ({"number": errno.ECONNREFUSED}, "ports-blocked"),
        ({"number": errno.ETIMEDOUT}, "ports-blocked"),
        ({"number": errno.EHOSTUNREACH, "hint": Hint.NO_NEIGHBOUR}, "rail-unreachable"),
        ({"number": errno.ENETUNREACH, "hint": Hint.NO_ROUTE}, "rail-unreachable"),
        ({"number": errno.EACCES, "hint": Hint.NO_ROUTE}, "rail-unreachable"),
        ({"number": errno.ENETUNREACH}, "rail-unreachable"),
        ({"stage": Stage.GREETING}, "ports-blocked"),
        ({"stage": Stage.GREETING, "hint": Hint.STRANGER, "answered_by": "gpu9"}, "rail-unreachable"),
        ({"stage": Stage.DATA}, "mtu-mismatch"),
    ],
)
def test_the_error_tells_the_rule(known, identifier):
    reach = ClusterReach(nodes=nodes("NET/Socket/0"), failures=(failure("gpu1", "gpu2", **known),))
    assert found(reach) == {(Level.FAIL, identifier, "gpu[1-2]")}


def test_a_reverse_path_filter_is_blamed_only_where_it_is_strict_and_dropped_packets():
    for strict, filtered, identifier in (
        (True, 3, "rp-filter-strict"),
        (False, 3, "ports-blocked"),
        (True, 0, "ports-blocked"),
    ):
        ends = nodes("NET/Socket/0", strict=strict)
        reach = ClusterReach(nodes=ends, failures=(failure("gpu1", "gpu2"),), filtered={"gpu2": filtered})
        assert {one[1] for one in found(reach)} == {identifier}


def test_silence_from_a_node_without_a_route_back_is_no_firewall():
    back = failure("gpu3", "gpu1", errno.ENETUNREACH, hint=Hint.NO_ROUTE)
    reach = ClusterReach(nodes=nodes("NET/Socket/0"), failures=(failure("gpu1", "gpu3"), back))
    assert found(reach) == {(Level.FAIL, "rail-unreachable", "gpu[1,3]")}


@pytest.mark.parametrize(
    ("use", "known", "level"),
    [
        ("NET/Socket/1", {}, Level.FAIL),
        ("NET/IB/0", {}, Level.INFO),  # RDMA passes by the kernel's filters
        ("NET/IB/0", {"hint": Hint.NO_NEIGHBOUR}, Level.WARN),
        ("NET/IB/0", {"stage": Stage.DATA}, Level.WARN),
    ],
)
def test_a_closed_way_is_as_bad_as_what_it_is_for(use, known, level):
    reach = ClusterReach(nodes=nodes(use), failures=(failure("gpu1", "gpu2", **known),))
    assert {one[0] for one in found(reach)} == {level}


def test_the_effect_counts_the_channels_of_the_plan():
    reach = ClusterReach(
        nodes=nodes("NET/Socket/0", "NET/IB/0"), failures=(failure("gpu1", "gpu2", place=1, stage=Stage.DATA),)
    )
    told = judge(reach, Planned(16, {("NET/IB/0", "NET/IB/0"): 4})).findings
    assert told[0].effect.startswith("4 of 16 planned channels use this connection")
    assert judge(reach, Planned(16)).findings[0].effect == "none of the 16 planned channels uses this connection"


def test_who_could_not_be_tried_is_unknown_and_never_passes():
    reach = ClusterReach(
        nodes=nodes("NET/Socket/0", count=5),
        untried=frozenset({("gpu1", "gpu2")}),
        silent={"gpu3": "ssh: lost"},
        deaf={("gpu4", 0): "Cannot assign requested address"},
    )
    assert found(reach) == {(Level.UNKNOWN, "rail-unreachable", name) for name in ("gpu1", "gpu3", "gpu4")}
    assert judge(reach, Planned()).sound == {"gpu5"}


def test_what_was_tried_outweighs_what_was_read():
    reached = judge(ClusterReach(nodes=nodes("NET/Socket/0"), failures=(failure("gpu1", "gpu2"),)), Planned())
    unknown, passed = (ports_blocked.RULE.finding(level, "", "") for level in (Level.UNKNOWN, Level.PASS))
    assert [reached.settles(unknown, name) for name in ("gpu1", "gpu2", "gpu3")] == [False, False, True]
    assert [reached.settles(passed, name) for name in ("gpu1", "gpu2", "gpu3")] == [True, True, True]
    assert not reached.settles(ports_blocked.RULE.finding(Level.WARN, "", ""), "gpu3")  # too few local ports


def test_without_anything_to_try_nothing_passes():
    alone = dict.fromkeys(("gpu1", "gpu2"), ())
    assert found(ClusterReach(nodes=alone)) == {(Level.UNKNOWN, "rail-unreachable", "gpu[1-2]")}
    assert not judge(ClusterReach(nodes=alone), Planned()).sound
    every = {rule.id for rule in TRIED}
    assert [(one.id, one.level) for one in not_tried(["gpu1", "gpu2"], every).findings] == [
        ("rail-unreachable", Level.UNKNOWN)
    ]
    for one in every:
        assert [found.id for found in not_tried(["gpu1", "gpu2"], {one}).findings] == [one]
    assert not not_tried(["gpu1"], every).findings


def test_ways_join_equal_uses_and_those_of_the_plan():
    one, two = nodes("NET/Socket/0", "NET/IB/0", "NET/IB/1", count=2).values()
    straight = [(0, 0), (1, 1), (2, 2)]
    assert [way for way, _ in ways(one, two, frozenset())] == straight
    assert [way for way, _ in ways(one, two, frozenset({("NET/IB/0", "NET/IB/1")}))] == [(0, 0), (1, 1), (1, 2), (2, 2)]
    assert not ways(one, one, frozenset())  # an address of its own leads nowhere else


def test_the_matrix_has_a_row_for_each_rail():
    reach = ClusterReach(
        nodes=nodes("NET/Socket/0", "NET/Socket/1"), failures=(failure("gpu1", "gpu3"), failure("gpu2", "gpu3"))
    )
    assert list(matrix_lines(reach)) == [
        "  reach over eth1: all 6 connections succeed",
        "  reach over eth0 (NET/Socket/0): 4 of 6 connections succeed",
    ]
    assert [row["failed"] for row in matrix_record(reach)] == [[{"from": "gpu[1-2]", "to": "gpu3"}], []]
