# SPDX-License-Identifier: Apache-2.0
"""The policy best on machines: sound, never below NCCL's, bounded, and different only for a stated gain."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.small_machines import SWITCHED, gpu, machine, machines, nic, nvlink

from railgauge.topo.channels.graph import Policy
from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.load import loads
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.overhead import taken
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.search import search

SLACK = 1e-4


def weigh(system, table, weights, nodes):
    steps = ((a, table.get(a.id, b.id)) for a, b in pairwise(nodes))
    taking = (taken(system, source, path).items() for source, path in steps)
    return sum(weights.get((link.source, link.target), 0) * cost for load in taking for link, cost in load)


@settings(max_examples=20, deadline=None)
@given(machines(), st.integers(1, 2))
def test_a_graph_is_sound_and_within_its_bound(system, nodes):
    if len(system.gpus) < 2 or (nodes > 1 and not system.nets):
        return
    group = group_of(system, paths(system), nodes)
    graphs = search(system, nodes=nodes)
    for graph in (graphs.ring, graphs.tree):
        assert 1 <= len(graph.channels) <= 32
        for channel in graph.channels:
            assert sorted(channel.ranks) == sorted(rank.rank for rank in group.ranks)
        if len(group.ranks) > 1:
            for load in loads(group, graph):
                assert load.gb_per_s <= load.link.gb_per_s + 0.001 * len(graph.channels)
            total = len(graph.channels) * min(graph.gb_per_s_intra, graph.gb_per_s_inter)
            assert total <= graph.bound.gb_per_s * (1 + 1e-3)


@settings(max_examples=20, deadline=None)
@given(machines())
def test_the_bound_of_a_ring_is_proved_by_its_weights(system):
    table = paths(system)
    if not 2 <= len(system.gpus) <= 6 or len(table.kept) < len(system.gpus):
        return
    bound = search(system).ring.bound
    weights = {(source, target): weight for source, target, weight in bound.weights}
    speeds = {(link.source, link.target): link.gb_per_s for link in system.links}
    assert sum(weight * speeds[ends] for ends, weight in weights.items()) == pytest.approx(bound.gb_per_s, rel=1e-4)
    first, *others = system.gpus
    for order in permutations(others):
        assert weigh(system, table, weights, [first, *order, first]) >= 1 - SLACK
    assert bound.why


@settings(max_examples=20, deadline=None)
@given(machines(), st.integers(1, 2), st.integers(0, 2))
def test_best_is_never_below_nccl(system, nodes, cross_nic):
    if not system.gpus or (nodes > 1 and not system.nets):
        return
    steering = Steering(cross_nic=cross_nic)
    best = search(system, nodes=nodes, steering=steering)
    nccl = search(system, nodes=nodes, steering=steering, policy=Policy.NCCL)
    for ours, theirs in ((best.ring, nccl.ring), (best.tree, nccl.tree)):
        assert ours.total(nodes) >= theirs.total(nodes) * (1 - 2e-3)
        if ours.channels == theirs.channels and ours.gb_per_s_intra == theirs.gb_per_s_intra:
            assert ours.difference == ""


def test_where_nothing_carries_more_the_answer_is_nccls():
    system = machine(gpu("0000:01:00.0", 0) + gpu("0000:02:00.0", 1), vendor="AuthenticAMD")
    best, nccl = search(system), search(system, policy=Policy.NCCL)
    assert best.ring.channels == nccl.ring.channels
    assert best.ring.gb_per_s_intra == nccl.ring.gb_per_s_intra
    assert best.ring.difference == ""


def test_a_gain_says_what_nccl_lacked():
    system = machine(gpu("0000:01:00.0", 0, SWITCHED, sm=90) + gpu("0000:02:00.0", 1, SWITCHED, sm=90))
    ring = search(system).ring
    assert (len(ring.channels), ring.gb_per_s_intra) == (12, 30.9)
    assert ring.bound.gb_per_s == pytest.approx(370.8)
    assert ring.bound.why.startswith("NVLinks of GPU/0-")
    assert "its table of speeds has nothing between" in ring.difference


def test_a_gain_by_another_number_of_channels_says_why_nccl_kept_its_own():
    """Four A100 that NVLinks join each to each: NCCL's 12 rings carry 240 GB/s, as 24 do."""
    ring = search(build_system(load_machine("@a100-4gpu").topology)).ring
    assert ring.difference.startswith("NCCL uses 12 x 20 GB/s: ring and tree use the same number of channels, and ")
    assert "; 24 x 10 fit in " in ring.difference


def test_one_gpu_has_no_bound():
    graphs = search(machine(gpu("0000:01:00.0", 0)))
    assert graphs.ring.bound is None
    assert graphs.tree.bound is None


def test_a_cut_between_sockets_is_named():
    ends = [["0000:01:00.0", "0000:02:00.0"], ["0000:03:00.0", "0000:04:00.0"]]
    cpus = [
        gpu(a, 2 * i, nvlink(b, 4), sm=80) + gpu(b, 2 * i + 1, nvlink(a, 4), sm=80) for i, (a, b) in enumerate(ends)
    ]
    why = search(machine(*cpus)).ring.bound.why
    assert why.startswith("cut between GPUs 0-1 and 2-3: ")


def test_the_nic_of_one_of_several_nodes_is_named():
    system = machine(
        gpu("0000:01:00.0", 0, SWITCHED) + gpu("0000:02:00.0", 1, SWITCHED) + nic("0000:03:00.0", 0, mbps=10000)
    )
    assert "NIC NET/0-0" in search(system, nodes=2).ring.bound.why


def test_the_tree_has_as_many_channels_as_the_ring_and_still_carries_the_most():
    first, second, third = (f"0000:0{number}:00.0" for number in (1, 2, 3))
    system = machine(
        gpu(first, 0, nvlink(second, 2), sm=70)
        + gpu(second, 1, nvlink(first, 2) + nvlink(third, 2), sm=70)
        + gpu(third, 2, nvlink(second, 2), sm=70)
    )
    graphs = search(system)
    assert len(graphs.tree.channels) == len(graphs.ring.channels)
    assert graphs.tree.total(1) >= graphs.tree.bound.gb_per_s * 0.95


def test_weights_add_up_to_the_bound_as_printed_and_none_is_nothing():
    system = machine(gpu("0000:01:00.0", 0, SWITCHED, sm=90) + gpu("0000:02:00.0", 1, SWITCHED, sm=90))
    bound = search(system).ring.bound
    speeds = {(link.source, link.target): link.gb_per_s for link in system.links}
    assert all(weight > 0 for _, _, weight in bound.weights)
    assert round(sum(weight * speeds[a, b] for a, b, weight in bound.weights), 6) == bound.gb_per_s == 370.8


@settings(max_examples=20, deadline=None)
@given(machines())
def test_no_bound_of_a_ring_is_above_what_flows_between_two_gpus(system):
    networkx = pytest.importorskip("networkx", reason="networkx finds the greatest flow")
    table = paths(system)
    if len(system.gpus) < 2 or len(table.kept) < len(system.gpus):
        return
    wires = networkx.DiGraph()
    for link in system.links:
        speed = link.gb_per_s + wires.get_edge_data(link.source, link.target, {"capacity": 0})["capacity"]
        wires.add_edge(link.source, link.target, capacity=speed)
    bound = search(system).ring.bound.gb_per_s
    for a, b in permutations(system.gpus, 2):
        assert bound <= networkx.maximum_flow_value(wires, a.id, b.id) * (1 + 1e-4)
