# SPDX-License-Identifier: Apache-2.0
"""What channels load each link with: sums by hand, and never more than a search was allowed."""

from dataclasses import replace

import pytest
from tests.topo.channels.synthetic_nodes import graph
from tests.topo.small_machines import SWITCHED, gpu, machine, nic, switch

from railgauge.topo.channels.graph import BALANCED_TREE, RING, SPLIT_TREE, TREE, Channel, Policy
from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.load import is_open, loads, overloaded, steps
from railgauge.topo.errors import UnavailableError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.predict.search import search

PAIR = machine(
    switch("0000:10:00.0", gpu("0000:11:00.0", 0, SWITCHED), gpu("0000:12:00.0", 1, SWITCHED), nic("0000:13:00.0", 0)),
    vendor="AuthenticAMD",
)


def grouped(system, nodes=1):
    return group_of(system, paths(system), nodes)


def carried(system, one, nodes):
    return {(load.link.source, load.link.target): load.gb_per_s for load in loads(grouped(system, nodes), one)}


def test_a_ring_loads_each_nvlink_once_each_way():
    found = carried(PAIR, graph(RING, [Channel(ranks=(0, 1))] * 3, speed=10.0), 1)
    assert found["DEV/0-11000", "NVS/0-0"] == found["NVS/0-0", "DEV/0-11000"] == pytest.approx(30)


@pytest.mark.parametrize(
    ("pattern", "out"), [(RING, (0, 12)), (TREE, (12, 0)), (SPLIT_TREE, (0, 12)), (BALANCED_TREE, (6, 6))]
)
def test_the_pattern_says_from_where_a_channel_leaves(pattern, out):
    found = carried(PAIR, graph(pattern, [Channel(ranks=(0, 1), nets=(0, 0))], speed=12.0), 2)
    up = tuple(found.get((card, "PCI/0-10000"), 0.0) for card in ("DEV/0-11000", "DEV/0-12000"))
    assert up == pytest.approx(out)
    assert found["PCI/0-10000", "DEV/0-11000"] == pytest.approx(12)
    assert found["NIC/0-13000", "NET/0-0"] == pytest.approx(12)


def test_a_thousandth_for_each_channel_is_rounding_and_more_is_a_load_too_much():
    full = next(link.gb_per_s for link in PAIR.links_of("DEV/0-11000") if link.kind is LinkKind.NVL)
    for over, ends in ((0.0009, set()), (0.002, {"DEV/0-11000", "DEV/0-12000", "NVS/0-0"})):
        one = graph(RING, [Channel(ranks=(0, 1))] * 4, speed=full / 4 + over)
        found = overloaded(grouped(PAIR), one)
        assert {load.link.source for load in found} == ends


def test_the_fullest_link_comes_first():
    found = loads(grouped(PAIR, 2), graph(RING, [Channel(ranks=(0, 1), nets=(0, 0))], speed=12.0))
    assert [load.share for load in found] == sorted((load.share for load in found), reverse=True)


def test_a_step_without_a_way_is_open():
    one = graph(RING, [Channel(ranks=(0, 1))])
    apart = replace(PAIR, links=tuple(link for link in PAIR.links if link.kind is LinkKind.LOC))
    for system, open_ in ((PAIR, False), (apart, True)):
        group = grouped(system)
        assert {is_open(group, step) for step in steps(group, one, one.channels[0])} == {open_}


def test_nics_of_one_port_share_what_it_carries():
    twin = nic("0000:14:00.0", 1).replace('guid="0x2"', 'guid="0x1"')
    system = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0), nic("0000:13:00.0", 0), twin))
    one = graph(RING, [Channel(ranks=(0,), nets=(0, 0)), Channel(ranks=(0,), nets=(1, 1))], speed=10.0)
    found = carried(system, one, 2)
    assert found["NET/0-0", "NIC/0-13000"] == found["NET/0-1", "NIC/0-14000"] == pytest.approx(20)
    assert found["NIC/0-13000", "PCI/0-10000"] == pytest.approx(10)


def test_nothing_is_planned_without_ranks():
    with pytest.raises(UnavailableError, match="--device cpu"):
        grouped(machine(nic("0000:13:00.0", 0)))


@pytest.mark.parametrize("name", ["@h200x4", "@dgx-a100", "@dgx-h100", "@dgx-1v", "@pcie-switch", "@pcie-no-switch"])
@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("nodes", [1, 2])
def test_no_search_overloads_a_link(name, policy, nodes):
    system = build_system(load_machine(name).topology)
    found = search(system, nodes=nodes, policy=policy)
    for one in (found.ring, found.tree):
        for load in loads(grouped(system, nodes), one):
            assert load.gb_per_s <= load.link.gb_per_s + 1e-3 * len(one.channels)
