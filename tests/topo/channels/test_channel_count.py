# SPDX-License-Identifier: Apache-2.0
"""How many channels ring and tree have, given what each number of them carries."""

import pytest

from railgauge.topo.channels.channel_count import ChannelLimits, choose, most_carrying, shared_counts

LIMITS = ChannelLimits(least_channels=1, most_channels=32, top_gb_per_s=48.0)


class Set:
    def __init__(self, count, speed):
        self.channels = [None] * count
        self.gb_per_s = speed


def sets(speeds):
    return {count: Set(count, speed) for count, speed in speeds.items()}


@pytest.mark.parametrize(
    ("speeds", "count"),
    [
        ({2: 40.0, 4: 20.0, 8: 10.0}, 4),  # the most of an NVLink's worth
        ({2: 6.0, 4: 3.0}, 2),  # else the fewest
        ({2: 40.0, 4: 20.02}, 4),  # a thousandth is no gain
        ({2: 40.0, 3: 30.0}, 3),  # more together comes first
        ({}, 0),
    ],
)
def test_a_ring_alone_has_the_number_that_carries_the_most(speeds, count):
    found = sets(speeds)
    assert choose(found, most_carrying(found, LIMITS)) == count


@pytest.mark.parametrize(
    ("ring", "tree", "counts"),
    [
        ({2: 20.0, 8: 5.0}, {2: 20.0, 8: 10.0}, {8}),  # the tree decides among rings that carry the same
        ({2: 20.0, 8: 4.0}, {2: 20.0, 8: 10.0}, {2}),  # but never against the ring
        ({2: 20.0, 8: 5.0}, {2: 40.0, 8: 10.1}, {2, 8}),  # a hundredth of the tree decides nothing (CLOSE)
        ({2: 20.0, 8: 5.0}, {}, {2, 8}),
    ],
)
def test_ring_and_tree_share_a_number(ring, tree, counts):
    assert shared_counts(sets(ring), sets(tree), LIMITS) == counts


def test_fewer_than_the_least_are_none():
    assert most_carrying(
        sets({1: 40.0, 2: 5.0}), ChannelLimits(least_channels=2, most_channels=32, top_gb_per_s=48.0)
    ) == {2}


def test_among_equals_nccls_own_number_is_taken_and_no_more_than_run_well():
    found = sets({9: 41.2, 12: 30.9, 18: 20.6})
    assert choose(found, {9, 12, 18}, like=9) == 9
    assert choose(found, {9, 12, 18}, like=4) == 12
    assert choose(found, {18}) == 18
