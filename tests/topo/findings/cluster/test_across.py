# SPDX-License-Identifier: Apache-2.0
"""Rails and MTUs between nodes, by what is known of each node's ports."""

from railgauge.topo.findings.cluster.examination import Examined, Individual, UsedPort
from railgauge.topo.findings.cluster.rules import mtu_mismatch, rail_unreachable


def node(number, *networks, mtus=(4096, 4096)):
    ports = tuple(
        UsedPort(name=f"mlx5_{place}:1", link_layer="Ethernet", network=network, mtu=mtu)
        for place, (network, mtu) in enumerate(zip(networks, mtus, strict=True))
    )
    return Examined(name=f"gpu{number}", fingerprint="", shared=(), own=(), individual=Individual(ports=ports))


ONE, TWO = "10.0.1.0/24", "10.0.2.0/24"


def told(rule, nodes):
    return {(one.host, one.subject) for one in rule.find(nodes)}


def test_swapped_rails_are_named():
    nodes = [node(1, ONE, TWO), node(2, ONE, TWO), node(3, TWO, ONE)]
    assert told(rail_unreachable, nodes) == {("gpu3", "mlx5_0:1"), ("gpu3", "mlx5_1:1")}


def test_rails_in_order_unknown_ones_and_a_network_for_each_leaf_are_no_fault():
    assert not told(rail_unreachable, [node(1, ONE, TWO), node(2, ONE, TWO)])
    assert not told(rail_unreachable, [node(1, "", ""), node(2, ONE, TWO)])
    leaves = [node(1, "10.1.1.0/24", "10.1.2.0/24"), node(2, "10.2.1.0/24", "10.2.2.0/24"), node(3, ONE, TWO)]
    assert not told(rail_unreachable, leaves)
    flat = [node(1, ONE, ONE), node(2, ONE, ONE), node(3, ONE, ONE)]
    assert not told(rail_unreachable, flat)


def test_a_network_that_half_of_the_nodes_have_is_nobodys_rail():
    assert not told(rail_unreachable, [node(1, ONE, TWO), node(2, TWO, ONE)])
    half = [node(1, ONE, TWO), node(2, ONE, TWO), node(3, TWO, ONE), node(4, TWO, ONE)]
    assert not told(rail_unreachable, half)
    most = [*half, node(5, ONE, TWO)]
    assert told(rail_unreachable, most) == {("gpu[3-4]", "mlx5_0:1"), ("gpu[3-4]", "mlx5_1:1")}


def test_an_mtu_that_is_not_that_of_the_others():
    nodes = [node(1, ONE, TWO), node(2, ONE, TWO), node(3, ONE, TWO, mtus=(1024, 1024))]
    [one] = mtu_mismatch.find(nodes)
    assert (one.host, one.evidence["ports"]) == ("gpu3", ["mlx5_0:1", "mlx5_1:1"])
    assert not told(mtu_mismatch, nodes[:2])
    assert not told(mtu_mismatch, [node(1, ONE, TWO, mtus=(None, None)), *nodes[:2]])
