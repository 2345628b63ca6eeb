# SPDX-License-Identifier: Apache-2.0
"""Routes of made fabrics: every NIC reaches every other on a shortest path, over all uplinks alike, broken or not."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.breakage import broken
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.routing import Routing

TWO = FabricPlan(leaves=4, spines=2, rails=2, nodes=8)
THREE = FabricPlan(leaves=8, spines=4, rails=2, nodes=16, pods=2, cores=2)
APART = FabricPlan(leaves=8, spines=8, rails=2, nodes=16, pods=2, cores=4, separate=True)


def hops(fabric):
    """The cables of the path of each pair of NICs of one rail."""
    pairs = [pair for pair in permutations(fabric.endpoints, 2) if pair[0].device == pair[1].device]
    count = Counter(at for which, _ in Routing(fabric).walked(*map(list, zip(*pairs, strict=True))) for at in which)
    return {(one.node, other.node): count[at] for at, (one, other) in enumerate(pairs)}


@pytest.mark.parametrize("plan", [TWO, THREE, APART])
def test_a_path_goes_as_high_as_it_must(plan):
    found = hops(make_fabric(plan))
    assert found["gpu000", "gpu001"] == 2
    below, pod = plan.nodes_per_leaf, plan.nodes // plan.pods
    assert found["gpu000", f"gpu{below:03d}"] == 4
    assert found["gpu000", f"gpu{plan.nodes - 1:03d}"] == (6 if pod < plan.nodes else 4)


@pytest.mark.parametrize("plan", [TWO, THREE, APART])
def test_every_uplink_has_as_many_destinations(plan):
    fabric = make_fabric(plan)
    for key, table in fabric.routes.tables.items():
        up = [
            int(end.port)
            for cable in fabric.trunks
            for end in cable.ends
            if end.device == key and fabric.tier_of[cable.other(end).device] > fabric.tier_of[key]
        ]
        counts = {int((table == port).sum()) for port in up}
        assert len(counts) <= 1, fabric.switches[key].name
        assert 0 not in counts


@pytest.mark.parametrize("plan", [TWO, THREE, APART])
def test_every_uplink_carries_as_much_when_all_send_to_all_of_their_rail(plan):
    fabric = make_fabric(plan)
    routing = Routing(fabric)
    pairs = [pair for pair in permutations(fabric.endpoints, 2) if pair[0].device == pair[1].device]
    carried = routing.loads(*map(list, zip(*pairs, strict=True)), np.ones(len(pairs)), adaptive=False)
    by_switch = {}
    for end, load in zip(routing.ends, carried.tolist(), strict=True):
        far = fabric.cable_at[end].other(end).device
        if far in fabric.switches and fabric.tier_of.get(end.device, 9) < fabric.tier_of[far]:
            by_switch.setdefault(end.device, set()).add(load)
    assert {len(loads) for loads in by_switch.values()} == {1}


@pytest.mark.parametrize(
    "fault",
    [
        "cable:leaf-r0-0[6]",
        "cable:spine-p0-1[5]",
        "swap:gpu001/mlx5_0,gpu009/mlx5_0",
        "swap:gpu001/mlx5_0,gpu001/mlx5_1",
    ],
)
def test_a_broken_fabric_is_routed_as_it_is(fault):
    fabric = broken(make_fabric(THREE), [fault]).fabric
    assert max(hops(fabric).values()) == 6


def test_a_switch_that_sends_everything_one_way_stays_so_whatever_else_is_broken():
    faults = ["routes:leaf-r0-0[6]", "cable:leaf-r1-0[6]"]
    one, other = (broken(make_fabric(THREE), given).fabric.routes.tables for given in (faults, faults[::-1]))
    assert all((one[key] == other[key]).all() for key in one)
    key = next(key for key, switch in make_fabric(THREE).switches.items() if switch.name == "leaf-r0-0")
    assert set(one[key].tolist()) & {5, 6, 7, 8} == {6}


def test_the_third_tier_has_the_bandwidth_of_the_second():
    assert (THREE.spine_down, THREE.core_parallel * THREE.cores) == (8, 8)
    names = Counter(switch.name.rpartition("-")[0] for switch in make_fabric(APART).switches.values())
    assert (names["spine-r0-p0"], names["spine-r1-p1"], names["core-r0"], names["core-r1"]) == (2, 2, 2, 2)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"pods": 2}, "--pods and --cores go together"),
        ({"cores": 2}, "--pods and --cores go together"),
        ({"pods": 3, "cores": 2, "spines": 6}, "--pods 3: a divisor of the 4 leaves"),
        ({"pods": 2, "cores": 2, "spines": 3}, "--spines 3: a multiple of 2"),
        ({"pods": 2, "cores": 3, "separate": True}, "--cores 3: a multiple of 2"),
        ({"pods": 0}, "--pods: at least 1"),
    ],
)
def test_what_no_three_tiers_can_be(shape, words):
    with pytest.raises(UsageError, match=words):
        FabricPlan(**({"leaves": 8, "spines": 4, "rails": 2, "nodes": 16} | shape))
