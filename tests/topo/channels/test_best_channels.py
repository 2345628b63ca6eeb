# SPDX-License-Identifier: Apache-2.0
"""The native search of the best channels, over any wiring: what it finds fits, none carry more than it proves."""

import highspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.channels.random_wiring import BALANCED_TREE, RING, TREE, Case, cases, patterns

from railgauge import _native

TOP = 48.0
SLACK = 5e-3  # a search stops a thousandth below its goal, crosses NICs for no less, and rounds speeds down
SLACK_WITH_NICS = 2e-2  # docs/how-it-works/graph-bound.md says so


def search(case, pattern, cross_nic=2, others=(), wanted=()):
    return _native.topo.best_channels(
        wiring=case.native(),
        pattern=pattern,
        most_channels=32,
        top_gb_per_s=TOP,
        cross_nic=cross_nic,
        wanted=set(wanted),
        others=list(others),
    )


def most(found):
    return max(len(packed.channels) * packed.gb_per_s for packed in found.by_count.values())


def ring_of(*speeds):
    """Three GPUs in a ring of links one way, with these GB/s; the other way round over a slow link each."""
    ways = {(0, 1): (0,), (1, 2): (1,), (2, 0): (2,), (1, 0): (3,), (2, 1): (3,), (0, 2): (3,)}
    return Case(3, 0, (*speeds, 3.0), ways)


@settings(max_examples=50, deadline=None)
@given(cases(), patterns)
def test_each_channel_visits_each_gpu_once_and_no_link_is_overloaded(case, pattern):
    found = search(case, pattern)
    assert found.by_count
    for count, packed in found.by_count.items():
        assert len(packed.channels) == count <= 32
        assert 0 < packed.gb_per_s <= TOP
        total = [0.0] * len(case.speeds)
        for channel in packed.channels:
            assert sorted(channel[0]) == list(range(case.gpus))
            total = [a + b for a, b in zip(total, case.load(pattern, channel), strict=True)]
        for carried, speed in zip(total, case.speeds, strict=True):
            assert carried * packed.gb_per_s <= speed * (1 + 1e-5)


@settings(max_examples=50, deadline=None)
@given(cases(), patterns)
def test_the_weights_prove_the_bound(case, pattern):
    found = search(case, pattern)
    weights = [0.0] * len(case.speeds)
    for link, weight in found.weights:
        assert weight > 0
        weights[link] = weight
    weighted = sum(weight * speed for weight, speed in zip(weights, case.speeds, strict=True))
    assert weighted == pytest.approx(found.bound, rel=1e-5)
    assert most(found) <= found.bound * (1 + 1e-5)
    for channel in case.channels(pattern):
        load = case.load(pattern, channel)
        assert sum(w * part for w, part in zip(weights, load, strict=True)) >= 1 - 1e-5


@settings(max_examples=20, deadline=None)
@given(cases(), patterns)
def test_the_bound_is_the_optimum_of_the_linear_programme(case, pattern):
    solver = highspy.Highs()
    solver.silent()
    columns = [case.load(pattern, channel) for channel in case.channels(pattern)]
    amounts = [solver.addVariable(lb=0, obj=1) for _ in columns]
    for link, speed in enumerate(case.speeds):
        terms = [load[link] * amount for load, amount in zip(columns, amounts, strict=True) if load[link]]
        if terms:
            solver.addConstr(sum(terms[1:], terms[0]) <= speed)
    solver.maximize(sum(amounts[1:], amounts[0]))
    assert search(case, pattern).bound == pytest.approx(solver.getInfo().objective_function_value, rel=1e-4)


@settings(max_examples=30, deadline=None)
@given(cases(), patterns, st.integers(0, 7), st.sampled_from([0.5, 7.0, 40.0]))
def test_a_faster_link_never_makes_the_bound_smaller(case, pattern, link, more):
    better = case.with_more(link % len(case.speeds), more)
    assert search(better, pattern).bound >= search(case, pattern).bound * (1 - 1e-5)


@settings(max_examples=30, deadline=None)
@given(cases(), patterns, st.integers(0, 7), st.sampled_from([0.5, 7.0, 40.0]))
def test_with_a_faster_link_what_was_found_before_is_not_lost(case, pattern, link, more):
    before = search(case, pattern, cross_nic=0)
    sets = [packed.channels for packed in before.by_count.values()]
    after = search(case.with_more(link % len(case.speeds), more), pattern, cross_nic=0, others=sets)
    assert most(after) >= most(before) * (1 - 1e-6)


@settings(max_examples=50, deadline=None)
@given(cases(), patterns, st.integers(0, 2), st.integers(0, 7), st.sampled_from([0.5, 7.0, 40.0]))
def test_a_faster_link_never_makes_the_answer_worse(case, pattern, cross_nic, link, more):
    before, after = (
        search(case, pattern, cross_nic),
        search(case.with_more(link % len(case.speeds), more), pattern, cross_nic),
    )
    assert most(after) >= most(before) * (1 - (SLACK_WITH_NICS if case.nets else SLACK))


@settings(max_examples=20, deadline=None)
@given(cases(), patterns)
def test_the_same_wiring_has_the_same_answer(case, pattern):
    first, second = search(case, pattern), search(case, pattern)
    assert first.weights == second.weights
    assert {k: p.channels for k, p in first.by_count.items()} == {k: p.channels for k, p in second.by_count.items()}


@settings(max_examples=20, deadline=None)
@given(cases())
def test_crossed_rings_go_in_pairs_that_swap_their_nics(case):
    found = search(case, RING)
    if not found.crossed:
        return
    for packed in found.by_count.values():
        nets = [(entry, leave) for _, entry, leave in packed.channels]
        assert nets[::2] == [(leave, entry) for entry, leave in nets[1::2]]


@settings(max_examples=20, deadline=None)
@given(cases())
def test_without_crossing_each_ring_leaves_by_the_nic_it_came_in_by(case):
    found = search(case, RING, cross_nic=0)
    assert not found.crossed
    assert all(entry == leave for packed in found.by_count.values() for _, entry, leave in packed.channels)


def test_a_ring_of_links_carries_what_its_slowest_link_does():
    found = search(ring_of(40.0, 40.0, 25.0), RING)
    assert most(found) == pytest.approx(26.0)  # 25 round one way, and 1 the other way, three times over one link
    assert found.bound == pytest.approx(26.0)


def test_a_chain_need_not_close():
    assert most(search(ring_of(40.0, 40.0, 0.5), BALANCED_TREE)) > 40


def test_a_channel_is_no_faster_than_the_top_speed():
    found = search(ring_of(100.0, 100.0, 100.0), RING)
    assert {count: packed.gb_per_s for count, packed in found.by_count.items()}[1] == TOP
    assert 100 <= most(found) <= found.bound == pytest.approx(101.0)


def test_a_slow_link_that_no_whole_channel_can_take_is_left_alone():
    case = Case(
        4,
        0,
        (19.0, 0.3, 24.0, 46.2, 24.0),
        {
            (a, b): ((0,), (2,), (4,))[(a + b) % 3] if abs(a - b) == 1 else (1,)
            for a in range(4)
            for b in range(4)
            if a != b
        },
    )
    found = search(case, TREE)
    assert most(found) >= 0.95 * found.bound


def test_gpus_that_nothing_connects_have_no_channel():
    assert not search(Case(2, 0, (10.0,), {(0, 1): (0,)}), RING).by_count


def test_channels_found_elsewhere_must_be_of_the_wiring():
    for channels in ([([0, 1, 1], -1, -1)], [([0, 1], -1, -1)], [([0, 1, 2], 0, 0)], [([0, 1, 9], -1, -1)]):
        with pytest.raises(IndexError):
            search(ring_of(1.0, 1.0, 1.0), RING, others=[channels])
