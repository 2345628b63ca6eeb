# SPDX-License-Identifier: Apache-2.0
"""A tournament: every pair once, nobody twice in a round, in as few rounds as there can be."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.collectives.link.tournament import one_at_a_time, rounds

RANKS = st.integers(0, 65)


@settings(deadline=None)
@given(RANKS)
def test_every_pair_meets_once(ranks):
    met = sorted(pair for pairs in rounds(ranks) for pair in pairs)
    assert met == list(combinations(range(ranks), 2))


@settings(deadline=None)
@given(RANKS)
def test_nobody_meets_two_in_one_round(ranks):
    for pairs in rounds(ranks):
        busy = [rank for pair in pairs for rank in pair]
        assert len(busy) == len(set(busy)) == ranks - ranks % 2


@settings(deadline=None)
@given(st.integers(2, 65))
def test_there_are_as_few_rounds_as_possible(ranks):
    assert len(rounds(ranks)) == (ranks if ranks % 2 else ranks - 1)


def test_one_at_a_time_has_every_pair_in_a_round_of_its_own():
    assert one_at_a_time(3) == [[(0, 1)], [(0, 2)], [(1, 2)]]
