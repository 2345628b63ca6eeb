# SPDX-License-Identifier: Apache-2.0
"""The cost model of ranks on host memory, and the choice by it: what has to hold whatever the constants are."""

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from railgauge.collectives.cost.host_across import DOUBLING_UP_TO
from railgauge.collectives.cost.host_choice import (
    ANY_SIZE,
    MODEL_SIZES,
    WORTH_A_CHANGE,
    candidates,
    chosen,
    modelled,
    quickest,
)
from railgauge.collectives.cost.host_cost import ON_SEGMENTS, algorithms, host_cost, moves_of
from railgauge.collectives.cost.host_ranks import HostRanks
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed

COLLECTIVES = st.sampled_from(list(Collective))
SIZES = st.integers(0, 1 << 34)
NODES = st.integers(1, 64)
ANY = read_allowed({})


@st.composite
def ranks(draw, nodes=NODES):
    over = draw(nodes)
    per_node = draw(st.integers(1 if over > 1 else 2, 64))
    cores = draw(st.integers(1, 128))
    return HostRanks(ranks=over * per_node, nodes=over, cores=cores, net_gb_per_s=draw(st.floats(0.1, 100)))


def hosts_of(where):
    return [where.per_node] * where.nodes


def of(where, collective):
    return algorithms(collective, hosts_of(where))


@settings(deadline=None)
@given(ranks(), COLLECTIVES, SIZES)
def test_every_algorithm_takes_some_time_and_more_bytes_never_less(where, collective, size):
    assume((size <= DOUBLING_UP_TO) == (2 * size <= DOUBLING_UP_TO))
    for algorithm in of(where, collective):
        less, more = (host_cost(where, collective, algorithm, some) for some in (size, 2 * size))
        assert 0 < less.latency_us == more.latency_us
        assert 0 <= less.transfer_us <= more.transfer_us


@settings(deadline=None)
@given(ranks(nodes=st.just(1)), COLLECTIVES, SIZES)
def test_ranks_that_share_cores_are_never_faster(where, collective, size):
    alone = HostRanks(ranks=where.ranks, cores=where.ranks)
    for algorithm in of(where, collective):
        shared = host_cost(where, collective, algorithm, size).time_us
        assert shared >= host_cost(alone, collective, algorithm, size).time_us


@settings(deadline=None)
@given(ranks(nodes=st.integers(2, 64)), COLLECTIVES, SIZES)
def test_a_slower_network_never_makes_it_faster(where, collective, size):
    slow = HostRanks(ranks=where.ranks, nodes=where.nodes, cores=where.cores, net_gb_per_s=where.net_gb_per_s / 2)
    for algorithm in of(where, collective):
        took = host_cost(where, collective, algorithm, size).time_us
        assert host_cost(slow, collective, algorithm, size).time_us >= took


@settings(deadline=None)
@given(ranks(), COLLECTIVES)
def test_boards_are_for_one_host_and_every_collective_has_something(where, collective):
    found = of(where, collective)
    assert found
    assert (where.nodes == 1) == any(one in ON_SEGMENTS for one in found)


@settings(deadline=None)
@given(ranks(), COLLECTIVES, SIZES)
def test_no_other_algorithm_is_much_quicker_than_the_one_chosen(where, collective, size):
    usable = candidates(collective, ANY, hosts_of(where), trees=True)
    runs = quickest(modelled(where, collective, tuple(usable)))
    for power in MODEL_SIZES:
        took = host_cost(where, collective, chosen(runs, power), power).time_us
        assert all(WORTH_A_CHANGE * took <= host_cost(where, collective, one, power).time_us for one in usable)
    assert chosen(runs, size) in usable


TIMES = st.dictionaries(
    st.sampled_from(list(Algorithm)),
    st.dictionaries(st.integers(0, 1 << 30), st.floats(1e-3, 1e9), min_size=1),
    min_size=1,
)


@settings(deadline=None)
@given(TIMES)
def test_choices_reach_further_and_further_and_neighbours_differ(times):
    runs = quickest(times)
    assert runs[-1][0] == ANY_SIZE
    assert all(a[0] < b[0] and a[1] is not b[1] for a, b in pairwise(runs))
    for size in {size for by_size in times.values() for size in by_size}:
        there = {one: by_size[size] for one, by_size in times.items() if size in by_size}
        assert WORTH_A_CHANGE * there[chosen(runs, size)] <= min(there.values())


def test_crossing_points_are_where_the_quicker_one_changes():
    small, large = Algorithm.ONE_SHOT, Algorithm.TWO_SHOT
    times = {small: {8: 1.0, 64: 2.0, 512: 9.0}, large: {8: 2.0, 64: 2.05, 512: 4.0}}
    assert quickest(times) == [(64, small), (ANY_SIZE, large)]


def test_equals_do_not_take_turns():
    one, other = Algorithm.RING, Algorithm.TREE
    times = {one: {8: 1.0, 16: 1.02, 32: 1.0}, other: {8: 1.01, 16: 1.0, 32: 1.01}}
    assert quickest(times) == [(ANY_SIZE, one)]


@pytest.mark.parametrize(
    ("collective", "algorithm", "steps", "passed"),
    [
        (Collective.ALL_REDUCE, Algorithm.RING, 6, 4 * 3 / 4),
        (Collective.ALL_REDUCE, Algorithm.ONE_SHOT, 1, 4),
        (Collective.ALL_REDUCE, Algorithm.TWO_SHOT, 2, 3 - 1 / 4),
        (Collective.ALL_REDUCE, Algorithm.TREE, 6, 4),
        (Collective.ALL_GATHER, Algorithm.RING, 3, 2 * 3 / 4),
        (Collective.ALL_GATHER, Algorithm.ONE_SHOT, 1, 1),
        (Collective.BROADCAST, Algorithm.RING, 3, 2),
        (Collective.ALL_TO_ALL, Algorithm.PAIRS, 1, 2 * 3 / 4),
    ],
)
def test_steps_and_bytes_of_four_ranks(collective, algorithm, steps, passed):
    moves = moves_of(HostRanks(ranks=4, cores=4), collective, algorithm, 0)
    assert (moves.steps, moves.passed) == (steps, pytest.approx(passed))


def test_a_tree_over_many_nodes_has_fewer_steps_than_a_ring():
    where = HostRanks(ranks=32, nodes=8, cores=4, net_gb_per_s=10)
    ring, tree = (moves_of(where, Collective.ALL_REDUCE, one, 0) for one in (Algorithm.RING, Algorithm.TREE))
    assert (ring.steps, ring.crossings, tree.steps, tree.crossings) == (62, 14, 12, 6)
    runs = quickest(modelled(where, Collective.ALL_REDUCE, (Algorithm.RING, Algorithm.TREE)))
    assert chosen(runs, 8) is Algorithm.TREE


@pytest.mark.parametrize(
    ("algorithm", "collective", "size", "steps", "crossings", "leaving"),
    [
        (Algorithm.RECURSIVE_DOUBLING, Collective.ALL_REDUCE, 8, 3, 2, 4),
        (Algorithm.RECURSIVE_HALVING, Collective.ALL_REDUCE, 8, 6, 4, 3),
        (Algorithm.RECURSIVE_DOUBLING, Collective.ALL_GATHER, 8, 3, 2, 3 / 2),
        (Algorithm.RECURSIVE_HALVING, Collective.REDUCE_SCATTER, 8, 3, 2, 3 / 2),
        (Algorithm.RECURSIVE_DOUBLING, Collective.BROADCAST, 8, 3, 2, 2),
        (Algorithm.HIERARCHICAL, Collective.ALL_REDUCE, DOUBLING_UP_TO, 4, 2, 2),
        (Algorithm.HIERARCHICAL, Collective.ALL_REDUCE, DOUBLING_UP_TO + 1, 6, 4, 3 / 2),
        (Algorithm.HIERARCHICAL, Collective.ALL_GATHER, 8, 3, 2, 3 / 4),
    ],
)
def test_steps_and_bytes_of_four_hosts_of_two_ranks(algorithm, collective, size, steps, crossings, leaving):
    moves = moves_of(HostRanks(ranks=8, nodes=4, cores=2), collective, algorithm, size)
    assert (moves.steps, moves.crossings, moves.leaving) == (steps, crossings, pytest.approx(leaving))


def test_one_rank_a_host_leaves_large_sizes_to_the_rings_of_all_interfaces():
    def at(size, interfaces):
        where = HostRanks(ranks=4, nodes=4, cores=4, net_gb_per_s=2, interfaces=interfaces)
        usable = candidates(Collective.ALL_REDUCE, ANY, hosts_of(where), trees=False)
        return chosen(quickest(modelled(where, Collective.ALL_REDUCE, tuple(usable))), size)

    assert at(8, 4) is Algorithm.RECURSIVE_DOUBLING
    assert at(64 << 20, 4) is Algorithm.RING


def test_two_hosts_over_sockets_double_what_is_short_alone():
    """Doubling passes slots in turn: rings took 0.63 to 0.87 of its time from 256 KiB to 4 MiB."""
    where = HostRanks(ranks=2, nodes=2, cores=1)
    usable = candidates(Collective.ALL_REDUCE, ANY, hosts_of(where), trees=False)
    runs = quickest(modelled(where, Collective.ALL_REDUCE, tuple(usable)))
    assert [chosen(runs, size) for size in (8, 4 << 10, 64 << 10)] == [Algorithm.RECURSIVE_DOUBLING] * 3
    assert Algorithm.RECURSIVE_DOUBLING not in [chosen(runs, 1 << power) for power in range(18, 33)]


@pytest.mark.parametrize(
    ("setting", "collective", "found"),
    [
        ("", Collective.ALL_REDUCE, ["one-shot", "two-shot", "ring", "tree"]),
        ("Ring", Collective.ALL_REDUCE, ["ring"]),
        ("^Ring", Collective.ALL_REDUCE, ["tree"]),
        ("Tree", Collective.BROADCAST, ["ring"]),
        ("NVLS", Collective.ALL_REDUCE, ["ring"]),
        ("broadcast:ring", Collective.ALL_REDUCE, ["one-shot", "two-shot", "ring", "tree"]),
        ("Ring", Collective.ALL_TO_ALL, ["one-shot", "pairs"]),
    ],
)
def test_nccl_algo_narrows_what_may_run(setting, collective, found):
    assert candidates(collective, read_allowed({"NCCL_ALGO": setting}), [4], trees=True) == found
