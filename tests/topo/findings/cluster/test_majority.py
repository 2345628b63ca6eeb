# SPDX-License-Identifier: Apache-2.0
"""Votes: what more than half have is the majority, whoever is asked first; without one nobody is odd."""

import functools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.findings.cluster.fleets import changed, usual

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.facts.capture import dumps
from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.node import ClusterNode, read_node
from railgauge.topo.findings.cluster.words import difference_text, split_text

X8 = '[files]\n"/sys/bus/pci/devices/0000:40:00.0/current_link_width" = "8"'
MLX5_3 = "0000:40:00.0"
X4 = '[files]\n"/sys/bus/pci/devices/0000:40:00.0/current_link_width" = "4"'


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Where captures lie: one folder for all examples of a property."""
    place = tmp_path_factory.mktemp("nodes")
    variant.cache_clear()
    variant.place = place
    return place


@functools.cache
def variant(toml: str) -> ClusterNode:
    path = variant.place / f"{abs(hash(toml))}.tar.gz"
    path.write_bytes(dumps(changed(toml) if toml else usual(), ".tar.gz"))
    return read_node("", str(path), with_topology=False)


def fleet(*kinds: str, order=None) -> list[ClusterNode]:
    """A node n1, n2, ... of each kind, in the order given."""
    nodes = [replace(variant(kind), name=f"n{number}", host="") for number, kind in enumerate(kinds, 1)]
    return [nodes[place] for place in order] if order else nodes


@settings(deadline=None, max_examples=20)
@given(st.data(), st.integers(1, 9))
def test_those_that_are_fewer_than_half_are_the_odd_ones(data, count):
    odd = data.draw(st.integers(0, count))
    order = data.draw(st.permutations(range(count)))
    report = compare(fleet(*[X8] * odd, *[""] * (count - odd), order=order))
    names = tuple(f"n{number}" for number in range(1, count + 1))
    if odd in (0, count):
        assert not report.differences
        assert not report.splits
    elif 2 * odd == count:
        assert not report.differences
        assert [split.groups for split in report.splits] == [(("x8", names[:odd]), ("x16", names[odd:]))]
    else:
        (found,) = report.differences
        fewer = names[:odd] if 2 * odd < count else names[odd:]
        assert (found.nodes, found.votes, found.of) == (fewer, max(odd, count - odd), count)
        assert (found.value, found.majority) == (("x8", "x16") if 2 * odd < count else ("x16", "x8"))
        assert not report.splits


def test_the_most_frequent_of_three_values_is_no_majority():
    report = compare(fleet(X8, X8, X4, "", X4, X8))
    assert report.differences == ()
    (split,) = report.splits
    assert split_text(split) == "NIC mlx5_3 (0000:40:00.0): x8 on n[1-2,6], x4 on n[3,5], x16 on n4"


def test_two_nodes_that_differ_are_both_named_and_neither_is_odd():
    report = compare(fleet(X8, ""))
    assert report.differences == ()
    assert [split_text(one) for one in report.splits] == ["NIC mlx5_3 (0000:40:00.0): x8 on n1, x16 on n2"]
    assert report.groups[0].equal == (("n1",), ("n2",))


def test_one_node_has_nothing_to_be_compared_with():
    report = compare(fleet(X8))
    assert (report.differences, report.splits) == ((), ())
    assert report.warnings == ("only one node: nothing to compare",)


def test_nodes_without_a_difference_are_folded():
    report = compare(fleet("", X8, "", X4, "", X8, ""))
    assert report.groups[0].equal == (("n1", "n3", "n5", "n7"), ("n2", "n6"), ("n4",))
    assert [(one.nodes, difference_text(one)) for one in report.differences] == [
        (("n2", "n6"), "NIC mlx5_3 (0000:40:00.0): x8, 4 of 7 nodes x16"),
        (("n4",), "NIC mlx5_3 (0000:40:00.0): x4, 4 of 7 nodes x16"),
    ]


def test_what_most_could_not_read_is_not_compared():
    unread = '[files]\n"/sys/bus/pci/devices/0000:40:00.0/current_link_width" = false'
    assert compare(fleet(unread, unread, "", "", unread)).differences == ()


def with_interface(node: ClusterNode, name: str) -> ClusterNode:
    facts = {"state": "up", "rate": None, "MTU": "1500", "behind it": "no PCI device"}
    item = Attributes(kind="interface", id=f"interface {name}", label=name, facts=facts)
    return replace(node, sheet=(*node.sheet, item))


def test_the_vote_on_a_fact_is_by_the_nodes_that_have_the_thing():
    """A NIC that two of five lack: at x16 on two of the three others, which is more than half of them."""
    lost = [replace(node, sheet=tuple(item for item in node.sheet if MLX5_3 not in item.id)) for node in fleet("", "")]
    nodes = [replace(node, name=f"n{number}") for number, node in enumerate([*lost, *fleet("", X8, "")], 1)]
    told = [difference_text(one) for one in compare(nodes).differences if one.nodes == ("n4",)]
    assert told == ["NIC mlx5_3 (0000:40:00.0): x8, 2 of 3 nodes x16"]


@pytest.mark.parametrize(("odd", "count"), [(2, 5), (3, 7), (4, 9)])
def test_just_more_than_half_is_a_majority(odd, count):
    (found,) = compare(fleet(*[X8] * odd, *[""] * (count - odd))).differences
    assert (len(found.nodes), found.votes, found.of) == (odd, count - odd, count)


def test_interfaces_of_containers_are_not_odd_and_a_bond_that_is_missing_is():
    nodes = [with_interface(node, f"veth{node.name}") for node in fleet("", "", "")]
    assert compare(nodes).differences == ()
    bonded = [with_interface(node, "bond0") for node in fleet("", "", "", "")[:3]]
    report = compare([*bonded, fleet("", "", "", "")[3]])
    assert [difference_text(one) for one in report.differences] == ["bond0 is missing, 3 of 4 nodes have it"]


def test_files_of_one_host_are_told():
    nodes = [replace(node, host="gpu-1") for node in fleet("", "")]
    assert compare(nodes).warnings == ("n[1-2]: files of the same host gpu-1",)
