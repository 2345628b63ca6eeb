# SPDX-License-Identifier: Apache-2.0
"""Joined nodes: rings over all ranks, trees that reach all, NICs and rails, and how many channels run."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.channels.synthetic_nodes import graph, node
from tests.topo.channels.synthetic_nodes import system as made_up_system

from railgauge.topo.channels.executed import executed
from railgauge.topo.channels.graph import BALANCED_TREE, RING, SPLIT_TREE, TREE, Channel, Graphs, Policy
from railgauge.topo.channels.joined import join
from railgauge.topo.errors import UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.search import search


@st.composite
def jobs(draw, most=200):
    """Nodes of unequal sizes, channel counts and tree patterns."""
    count = draw(st.integers(1, most))
    kinds = st.tuples(
        st.integers(1, 9),
        st.integers(1, 6),
        st.sampled_from([BALANCED_TREE, SPLIT_TREE, TREE]),
        st.sampled_from([0, 2]),
    )
    found = draw(st.lists(kinds, min_size=1, max_size=5))
    return [
        node(size, channels + channels % 2, place, pattern=pattern, cross_nic=cross)
        for place in range(count)
        for size, channels, pattern, cross in [found[place % len(found)]]
    ]


@settings(deadline=None, max_examples=15)
@given(jobs())
def test_rings_visit_every_rank_once_and_steps_follow_them(nodes):
    joined = join(nodes)
    for ring in joined.rings:
        assert sorted(ring.ranks) == list(range(joined.size))
        if joined.size > 1:
            assert [edge.source for edge in ring.edges] == list(ring.ranks)
            assert [edge.target for edge in ring.edges] == [*ring.ranks[1:], ring.ranks[0]]
        for edge in ring.edges:
            assert (edge.nets is None) == (joined.node_of(edge.source) == joined.node_of(edge.target))


@settings(deadline=None, max_examples=15)
@given(jobs())
def test_trees_reach_every_rank_from_one_root(nodes):
    joined = join(nodes)
    assert len(joined.trees) == 2 * len(joined.rings)
    for tree in joined.trees:
        assert tree.parents.count(None) == 1
        reached = level = [tree.root]
        while level:
            level = [child for rank in level for child in tree.children[rank]]
            reached = reached + level
        assert sorted(reached) == list(range(joined.size))
        assert max(map(len, tree.children)) <= 3  # NCCL_MAX_TREE_ARITY
        assert sorted(edge.source for edge in tree.edges) == [r for r in range(joined.size) if r != tree.root]


@settings(deadline=None, max_examples=15)
@given(jobs())
def test_a_node_passes_data_between_others_in_one_tree_of_a_pair(nodes):
    joined = join(nodes)
    for first, second in zip(joined.trees, joined.trees[len(joined.rings) :], strict=False):
        inner = [{joined.node_of(e.target) for e in tree.edges if e.nets is not None} for tree in (first, second)]
        assert inner[0] & inner[1] <= ({0} if len(nodes) % 2 else set())


def test_two_nodes_join_last_to_first():
    """The order is `connectRings`': what a node's channel ends with goes to what the next one's begins with."""
    first, second = node(3, 1, 1), node(2, 1, 2)
    joined = join([first, second])
    a, b = first[2].ring.channels[0].ranks, second[2].ring.channels[0].ranks
    assert joined.rings[0].ranks == (*a, *(3 + rank for rank in b))
    assert [(edge.source, edge.target, edge.nets) for edge in joined.rings[0].edges if edge.nets] == [
        (a[2], 3 + b[0], (0, 0)),
        (3 + b[1], a[0], (0, 0)),
    ]


def test_every_second_node_takes_crossed_channels_the_other_way_so_that_rings_stay_on_rails():
    joined = join([node(4, 4, 7, cross_nic=2) for _ in range(4)])
    edges = [edge for ring in joined.rings for edge in ring.edges if edge.nets]
    assert len(edges) == 16
    assert not any(edge.leaves_rail for edge in edges)
    assert {edge.nets[0] for ring in joined.rings[:1] for edge in ring.edges if edge.nets} == {0, 1}


def test_crossed_channels_of_an_odd_number_of_nodes_leave_their_rails_once():
    joined = join([node(4, 4, 7, cross_nic=2) for _ in range(3)])
    assert all(sum(edge.leaves_rail for edge in ring.edges) == 1 for ring in joined.rings)


def test_a_pair_that_does_not_mirror_shares_a_nic_on_every_second_node():
    """It leaves twice by the NIC of the rank that neither of its channels begins with (`ncclTopoGetNetDev`)."""
    wires = [
        link
        for dev in (0, 1)
        for link in (
            Link(source=f"NIC/0-{dev}", target=f"NET/0-{dev}", kind=LinkKind.NET, gb_per_s=12.5),
            Link(source=f"NET/0-{dev}", target=f"NIC/0-{dev}", kind=LinkKind.NET, gb_per_s=12.5),
        )
    ]
    nets = [Node(id=f"NET/0-{dev}", kind=NodeKind.NET, index=dev, dev=dev) for dev in (0, 1)]
    nics = [Node(id=f"NIC/0-{dev}", kind=NodeKind.NIC, index=dev) for dev in (0, 1)]
    ranks = made_up_system(4).ranks
    system = System(nodes=(*ranks, *nics, *nets), links=tuple(wires), ranks=ranks)
    mirrored, other = ((0, 1, 2, 3), (3, 2, 1, 0)), ((0, 1, 2, 3), (2, 3, 1, 0))
    for orders, total, shared in ((mirrored, 20.0, []), (other, 12.5, [(1, 0, True, 2)])):
        channels = [Channel(ranks=order, nets=nets) for order, nets in zip(orders, ((0, 1), (1, 0)), strict=True)]
        graphs = Graphs(
            ring=graph(RING, channels, cross_nic=2, speed=10.0), tree=graph(BALANCED_TREE, channels, speed=10.0)
        )
        joined = join([("a", system, graphs)] * 2)
        assert joined.gb_per_s == pytest.approx(total)
        assert [(nic.node, nic.dev, nic.leaves, nic.rings) for nic in joined.shared_nics] == shared


def test_rails_are_counted_among_the_nics_in_use():
    name, system, graphs = node(2, 4, 3)
    renumbered = tuple(type(c)(ranks=c.ranks, nets=tuple(3 + 2 * net for net in c.nets)) for c in graphs.ring.channels)
    other = replace(graphs, **{kind: replace(getattr(graphs, kind), channels=renumbered) for kind in ("ring", "tree")})
    joined = join([(name, system, graphs), (name, system, other)])
    edges = [edge for ring in joined.rings for edge in ring.edges if edge.nets]
    assert {edge.nets for edge in edges} >= {(0, 3), (3, 0), (1, 5), (5, 1)}
    assert not any(edge.leaves_rail for edge in edges)


@pytest.mark.parametrize(
    ("pattern", "arms"),
    [(TREE, (0, 0)), (BALANCED_TREE, (1, 0)), (SPLIT_TREE, (1, 1))],
    ids=["tree", "balanced", "split"],
)
def test_the_pattern_says_which_ranks_have_the_children_of_other_nodes(pattern, arms):
    """Node 4 of 8 is above 2 (its lower child) and 6 (its higher one) in the first tree."""
    nodes = [node(3, 1, 5, pattern=pattern) for _ in range(8)]
    tree, order = join(nodes).trees[0], nodes[0][2].tree.channels[0].ranks
    assert tree.parents[6 + order[0]] == 12 + order[arms[0]]
    assert tree.parents[18 + order[0]] == 12 + order[arms[1]]
    assert tree.parents[12 + order[1]] == 12 + order[0]


def test_unequal_nodes_do_what_all_of_them_can():
    joined = join([node(4, 6, 1, speed=24.0), node(2, 3, 2, speed=12.0)])
    assert len(joined.rings) == 3
    assert joined.ring.gb_per_s_intra == 12.0
    assert joined.gb_per_s == 36.0


def test_a_single_machine_runs_what_nccl_logged_on_it():
    """NCCL 2.28.9 on four H200: `24 coll channels`, and `Trees [0] 1/-1/-1->0->-1` with 0 -> 1 -> 2 -> 3."""
    system = build_system(load_machine("@h200x4").topology)
    joined = join([("h200x4", system, search(system, policy=Policy.NCCL))])
    assert len(joined.executed) == 24
    assert {tree.parents for tree in joined.trees} == {(None, 0, 1, 2)}


def test_channels_that_know_no_nic_cannot_join():
    system = build_system(load_machine("@dgx-a100").topology)
    with pytest.raises(UsageError, match="search them with --nodes"):
        join([("a", system, search(system)), ("b", system, search(system))])


def test_channels_of_a_part_of_a_node_cannot_join():
    name, _, graphs = node(2, 1)
    with pytest.raises(UsageError, match="2 of its 3 ranks"):
        join([(name, node(3, 1)[1], graphs)])


@pytest.mark.parametrize(
    ("found", "nodes", "sm", "speed", "count"),
    [
        (12, 1, 90, 60.0, 24),
        (32, 2, 90, 48.0, 64),
        (4, 2, 90, 48.0, 16),
        (4, 2, 90, 45.0, 8),
        (4, 1, 90, 48.0, 8),
        (4, 2, 80, 48.0, 8),
        (8, 2, 90, 48.0, 16),
        (2, 1, None, 6.0, 4),
    ],
)
def test_channels_run_twice_and_on_fast_gpus_across_nodes_four_times(found, nodes, sm, speed, count):
    numbers = executed(found, Steering(), nodes=nodes, least_sm=sm, gb_per_s_intra=speed)
    assert len(numbers) == count
    assert numbers[: 2 * found] == tuple(range(2 * found))[:count]


def test_settings_cut_first_and_then_repeat():
    def few(**settings):
        return executed(4, Steering(**settings), nodes=1, least_sm=80, gb_per_s_intra=20.0)

    assert few(max_channels=3) == (0, 1, 2)
    assert few(min_channels=12) == (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3)
    assert few(max_channels=2, min_channels=5) == (0, 1, 0, 1, 0)
