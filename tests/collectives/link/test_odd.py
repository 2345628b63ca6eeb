# SPDX-License-Identifier: Apache-2.0
"""Who is slow in made-up matrices: the one that was made slow, nobody else, and nobody where there are too few."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.collectives.link.odd import odd_ones

NOISE = 0.03


@st.composite
def matrices(draw, least: int):
    """Speeds of all pairs of some ranks, which scatter a little around one."""
    ranks = draw(st.integers(least, 12))
    usual = draw(st.floats(1e-3, 1e3))
    near = st.floats(1 - NOISE, 1 + NOISE)
    return ranks, {pair: usual * draw(near) for pair in combinations(range(ranks), 2)}


SLOW = st.floats(0.01, 0.6)


@settings(deadline=None)
@given(matrices(least=4))
def test_nobody_stands_out_where_all_are_alike(made):
    assert odd_ones(made[1]).odd == []


@settings(deadline=None)
@given(matrices(least=4), SLOW, st.data())
def test_a_slow_rank_is_named_and_none_of_its_links(made, factor, data):
    ranks, speeds = made
    slow = data.draw(st.integers(0, ranks - 1))
    found = odd_ones({pair: speed * (factor if slow in pair else 1) for pair, speed in speeds.items()}).odd
    assert [odd.ranks for odd in found] == [(slow,)]
    assert found[0].ratio == pytest.approx(factor, rel=4 * NOISE)


@settings(deadline=None)
@given(matrices(least=5), SLOW, st.data())
def test_a_slow_link_is_named_and_none_of_its_ranks(made, factor, data):
    slow = data.draw(st.sampled_from(sorted(made[1])))
    found = odd_ones(made[1] | {slow: made[1][slow] * factor}).odd
    assert [odd.ranks for odd in found] == [slow]
    assert found[0].ratio == pytest.approx(factor, rel=4 * NOISE)


@settings(deadline=None)
@given(matrices(least=8), SLOW, st.data())
def test_a_slow_rank_and_a_slow_link_elsewhere_are_both_named(made, factor, data):
    ranks, speeds = made
    slow, *ends = data.draw(st.permutations(range(ranks)))[:3]
    link = (min(ends), max(ends))
    found = odd_ones({p: speed * (factor if slow in p or p == link else 1) for p, speed in speeds.items()}).odd
    assert [odd.ranks for odd in found] == [(slow,), link]


@pytest.mark.parametrize("ranks", [0, 2, 3])
def test_of_too_few_nothing_is_said(ranks):
    speeds = dict.fromkeys(combinations(range(ranks), 2), 1.0)
    assert odd_ones(speeds) is None
    assert odd_ones({pair: 0.1 if pair == (0, 1) else speed for pair, speed in speeds.items()}) is None


def test_pairs_without_a_common_rank_are_not_enough():
    assert odd_ones({(0, 1): 1.0, (2, 3): 0.1}) is None


def test_what_scatters_widely_has_no_odd_one():
    speeds = {pair: 1.0 + number % 7 for number, pair in enumerate(combinations(range(6), 2))}
    judged = odd_ones(speeds)
    assert judged.odd == []
    assert judged.sees_below < 0.25


@settings(deadline=None)
@given(matrices(least=5), st.floats(0.8, 1.0), st.data())
def test_a_small_loss_is_not_worth_a_word(made, factor, data):
    slow = data.draw(st.sampled_from(sorted(made[1])))
    assert odd_ones(made[1] | {slow: made[1][slow] * factor}).odd == []
