# SPDX-License-Identifier: Apache-2.0
"""One slow rank by halves: found in synthetic fleets of any size, and real rings are measured and checked."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transports.ranks import on_ranks

from railgauge.collectives.link.bisection import Half, bisect, halved
from railgauge.collectives.link.link_job import LinkJob
from railgauge.transports.network import SOCKETS
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

FLEETS = st.integers(4, 200)


def rings(slow, told):
    """Rings of which those are slow that `slow` says so of; each comparison is told."""

    def compare(halves):
        told.append(halves)
        first, second = (Half(ranks, 0.2 if slow(ranks) else 1.0) for ranks in halves)
        return first, second

    return compare


@settings(deadline=None)
@given(FLEETS, st.data())
def test_the_slow_rank_is_found_in_few_steps(ranks, data):
    slow = data.draw(st.integers(0, ranks - 1))
    told = []
    found = halved(ranks, rings(lambda members: slow in members, told))
    assert found.slow == [slow]
    assert len(told) <= (ranks - 1).bit_length()
    assert found.last_ratio == 0.2
    for halves in told:
        assert min(map(len, halves)) > 1
        assert len({*halves[0]} & {*halves[1]}) <= 1  # the good one that goes with each of the last two


@settings(deadline=None)
@given(FLEETS)
def test_where_none_is_slow_none_is_named(ranks):
    found = halved(ranks, rings(lambda members: False, []))
    assert (found.slow, found.last_ratio, len(found.steps)) == ([], 1.0, 1)


@settings(deadline=None)
@given(FLEETS, st.data())
def test_of_a_slow_link_both_ends_are_left_or_none(ranks, data):
    ends = {*data.draw(st.permutations(range(ranks)))[:2]}
    found = halved(ranks, rings(lambda members: ends <= set(members), []))
    assert found.slow == [] or ends <= set(found.slow)


def test_rings_of_real_ranks_are_measured():
    job = LinkJob(bytes=4096, latency_bytes=8, iterations=3, timeout_s=20, bisect=True)
    said = []

    def body(bootstrap):
        peers = exchange(bootstrap, this_peer(bootstrap.rank))
        return bisect(bootstrap, peers, SOCKETS, job, said.append if bootstrap.rank == 0 else lambda _text: None)

    first, *others = on_ranks(5, body)
    assert others == [first] * 4
    assert [half.ranks for half in first.steps[0]] == [[0, 1], [2, 3, 4]]
    assert all(half.gb_per_s > 0 for step in first.steps for half in step)
    assert said[0] == "rings of 2 and 3 ranks"
