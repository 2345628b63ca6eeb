# SPDX-License-Identifier: Apache-2.0
"""The double binary tree over nodes: a tree each, leaves in the one are inner in the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.channels.trees import TreePlace, double_tree

COUNTS = st.integers(1, 600)


def children(place):
    return [child for child in (place.lower, place.higher) if child is not None]


@given(COUNTS, st.sampled_from([0, 1]))
def test_each_node_is_reached_once_from_the_root(count, which):
    places = [double_tree(count, node)[which] for node in range(count)]
    assert sum(place.parent is None for place in places) == 1
    for node, place in enumerate(places):
        assert [places[child].parent for child in children(place)] == [node] * len(children(place))
    level = [node for node, place in enumerate(places) if place.parent is None]
    reached, depth = list(level), 0
    while level:
        level, depth = [child for node in level for child in children(places[node])], depth + 1
        reached += level
    assert sorted(reached) == list(range(count))
    assert depth <= count.bit_length() + 1


@given(COUNTS)
def test_a_node_is_inner_in_one_tree_but_for_node_0_of_an_odd_number(count):
    inner = [[bool(children(place)) for place in double_tree(count, node)] for node in range(count)]
    assert [node for node, both in enumerate(inner) if all(both)] == ([0] if count % 2 and count > 1 else [])


def test_trees_over_four_and_five_nodes_are_nccls():
    """NCCL's comment on ncclGetDtree draws them: mirrored for even numbers, shifted for odd ones."""
    four = [double_tree(4, node) for node in range(4)]
    assert [place.parent for place, _ in four] == [None, 2, 0, 2]
    assert [place.parent for _, place in four] == [1, 3, 1, None]
    five = [double_tree(5, node) for node in range(5)]
    assert [place.parent for place, _ in five] == [None, 2, 4, 2, 0]
    assert [place.parent for _, place in five] == [1, None, 3, 0, 3]


@pytest.mark.parametrize("count", [12, 14])
def test_a_last_node_beyond_a_power_of_two_hangs_where_nccl_puts_it(count):
    assert double_tree(count, 12 if count == 14 else 10)[0] == (
        TreePlace(parent=8, lower=10, higher=13) if count == 14 else TreePlace(parent=8, lower=9, higher=11)
    )
