# SPDX-License-Identifier: Apache-2.0
"""Routes as ibtracert prints them; the order of nodes against shuffles, sorted names and OpenSM's own; loads."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.order import order_nodes, quality
from railgauge.topo.fabric.places import find_places
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.fabric.read import read_fabric
from railgauge.topo.fabric.route import named_endpoint, route
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import ChannelNics, ChannelPattern, job_nics, load_of, messages, usual_channels

HERE = Path(__file__).parent
CABLES = {"recorded": {2, 4}, "recorded_three_tiers": {2, 4, 6}}
"""How many a path has, in what Debian's tools printed of two fabrics that OpenSM had routed (-R ftree) on ibsim."""
HOP = re.compile(r"^\[(\d+)\] -> (?:switch|ca) port \{0x([0-9a-f]+)\}\[(\d+)\]", re.MULTILINE)


@pytest.mark.parametrize("name", CABLES)
def test_routes_are_those_of_ibtracert(name):
    fabric = read_fabric([str(HERE / name)])
    of_lid = {one.lid: one for one in fabric.endpoints}
    traces = json.loads((HERE / name / "ibtracert.json").read_text())
    assert len(traces) >= 20
    assert {len(HOP.findall(text)) for _, _, text in traces} == CABLES[name]
    for source, target, text in traces:
        ours = []
        for hop in route(fabric, of_lid[source], of_lid[target]):
            one = fabric.endpoint_at.get(hop.receiver)
            ours.append((hop.sender.port, one.address if one else hop.receiver.device, hop.receiver.port))
        assert ours == HOP.findall(text)


def job(fabric, names=None):
    rails = find_rails(fabric)
    found = job_nics(fabric, rails, list(fabric.nodes) if names is None else names)
    return found, find_places(fabric, rails), Routing(fabric), usual_channels(found)


def opensm_order(name):
    """The nodes as OpenSM's fat-tree engine orders them."""
    lines = (HERE / name / "opensm-ftree-ca-order.dump").read_text().splitlines()
    names = [line.split("\t")[1].split()[0] for line in lines if line.startswith("0x") and "DUMMY" not in line]
    return list(dict.fromkeys(names))


@pytest.mark.parametrize("name", CABLES)
def test_the_order_is_no_worse_than_others_of_a_recorded_fabric(name):
    fabric = read_fabric([str(HERE / name)])
    rng, count = random.Random(3), len(fabric.nodes)
    others = [opensm_order(name), sorted(fabric.nodes), *(rng.sample(list(fabric.nodes), count) for _ in range(20))]
    for names in others:
        found, places, routing, channels = job(fabric, names)
        order = order_nodes(found, places, routing, channels, adaptive=False)
        assert sorted(order.nodes) == sorted(names)
        assert order.after.gb_per_s >= order.before.gb_per_s
        assert order.after.gb_per_s <= order.bound_gb_per_s * 1.000001
        assert order.after.crossings == order.least_crossings == len(places.blocks)


PLANS = (
    FabricPlan(leaves=8, spines=4, rails=4, nodes=32, oversubscription=2),
    FabricPlan(leaves=16, spines=8, rails=4, nodes=64, separate=True),
    FabricPlan(leaves=4, spines=2, rails=1, nodes=32),
)


@pytest.mark.parametrize("plan", PLANS)
def test_the_worst_cable_carries_no_more_than_under_100_shuffles(plan):
    fabric = make_fabric(plan)
    names = list(fabric.nodes)
    random.Random(5).shuffle(names)
    found, places, routing, channels = job(fabric, names)
    order = order_nodes(found, places, routing, channels, adaptive=False)
    block_of = [places.block_of[name] for name in names]
    rng = random.Random(6)
    shuffles = [rng.sample(range(len(names)), len(names)) for _ in range(100)]
    shuffles.append(sorted(range(len(names)), key=names.__getitem__))
    for shuffled in shuffles:
        other = quality(found, shuffled, block_of, routing, channels, adaptive=False)
        assert order.after.gb_per_s >= other.gb_per_s * 0.999999
        assert order.after.crossings <= other.crossings
    assert order.after.gb_per_s > order.before.gb_per_s or order.before.gb_per_s == order.bound_gb_per_s


def test_places_are_blocks_of_nodes_below_the_same_leaves():
    _, places, _, _ = job(make_fabric(PLANS[0]))
    assert [len(block.nodes) for block in places.blocks] == [16, 16]
    assert places.groups == (((0, 1),),)


def test_rings_load_each_nic_by_its_share():
    fabric = make_fabric(PLANS[0])
    found, _, routing, channels = job(fabric)
    sent = messages(found, range(32), channels, ChannelPattern.RING)
    load = load_of(routing, sent, ChannelPattern.RING, adaptive=False)
    share = 2 * 31 / 32 / 4
    nics = [routing.first([one])[0] for one in fabric.endpoints]
    assert np.allclose(load.carried[nics], share)
    assert load.gb_per_s == pytest.approx(50 / share)


def test_trees_send_up_and_down_every_edge():
    fabric = make_fabric(PLANS[0])
    found, _, _, channels = job(fabric)
    sent = messages(found, range(32), channels, ChannelPattern.TREE)
    assert len(sent.sources) == 2 * 2 * 31 * 4
    assert sent.weights.sum() == pytest.approx(2 * 31)


@pytest.mark.parametrize("pattern", ChannelPattern)
def test_spread_traffic_is_conserved_and_even(pattern):
    fabric = make_fabric(PLANS[1])
    found, _, routing, channels = job(fabric)
    sent = messages(found, random.Random(1).sample(range(64), 64), channels, pattern)
    by_table, spread = (load_of(routing, sent, pattern, adaptive=each) for each in (False, True))
    assert by_table.carried.sum() == pytest.approx(spread.carried.sum())
    assert spread.gb_per_s >= by_table.gb_per_s * 0.999999
    trunks = [place for place, end in enumerate(routing.ends) if end.device.startswith("b8cef604")]
    up = [place for place in trunks if routing.ends[place].device == next(iter(fabric.switches))]
    ups = spread.carried[up][len(found.nodes) // 4 :]
    assert np.allclose(ups, ups[0])


def test_channels_may_leave_by_another_nic():
    fabric = make_fabric(PLANS[0])
    found, _, routing, _ = job(fabric)
    sent = messages(found, range(32), [ChannelNics(0, 1), ChannelNics(1, 0)], ChannelPattern.RING)
    load = load_of(routing, sent, ChannelPattern.RING, adaptive=True)
    straight = messages(found, range(32), [ChannelNics(0, 0), ChannelNics(1, 1)], ChannelPattern.RING)
    assert load.gb_per_s < load_of(routing, straight, ChannelPattern.RING, adaptive=True).gb_per_s


def test_a_table_without_the_target_is_named():
    fabric = make_fabric(PLANS[0])
    one, other = named_endpoint(fabric, "gpu000/mlx5_0"), named_endpoint(fabric, "gpu031/mlx5_0")
    fabric.routes.tables[fabric.leaf_of[one]][other.lid] = 255
    with pytest.raises(InputError, match="leaf-r0-0 has no route to gpu031 mlx5_0"):
        list(route(fabric, one, other))


def test_a_route_in_a_circle_ends():
    fabric = make_fabric(PLANS[0])
    one, other = named_endpoint(fabric, "gpu000/mlx5_0"), named_endpoint(fabric, "gpu031/mlx5_0")
    spine = fabric.cable_at[list(route(fabric, one, other))[1].sender].other(list(route(fabric, one, other))[1].sender)
    fabric.routes.tables[spine.device][other.lid] = int(spine.port)
    with pytest.raises(InputError, match="circle"):
        list(route(fabric, one, other))


def test_ends_are_named_by_node_guid_and_lid():
    fabric = make_fabric(PLANS[0])
    one = fabric.endpoints[5]
    for name in (f"{one.node}/{one.device}", one.address, f"0x{one.address}", f"LID:{one.lid}"):
        assert named_endpoint(fabric, name) is one
    with pytest.raises(UsageError, match="no such port"):
        named_endpoint(fabric, "gpu999/mlx5_0")
