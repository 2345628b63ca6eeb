# SPDX-License-Identifier: Apache-2.0
"""Where ranks stand, folded: who waits for whom, and where they part."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transports.standings import at, called, idle

from railgauge.transports.failure import Failure, judge
from railgauge.transports.frame import FROM_MEMBER, FrameKind
from railgauge.transports.picture import RankStates, draw, parting
from railgauge.transports.standing import BlockedOn, Standing
from railgauge.transports.typed import read_json


def test_all_that_wait_for_one_rank_in_the_end_are_told_in_one_clause():
    ring = {rank: [at("all_reduce", 41, (rank - 1) % 8)] for rank in range(7)}
    late = {7: [at("broadcast", 40, -1)]}
    assert draw(RankStates(ring | late), 7) == "ranks 0-6 wait in all_reduce #41 for rank 7, which is in broadcast #40"


@pytest.mark.parametrize(
    ("late", "words"),
    [
        ([], "has not called a collective yet"),
        ([idle()], "has not called a collective yet"),
        ([called("broadcast", 40)], "has called no collective since broadcast #40"),
        ([at("broadcast", 40, 0)], "waits in broadcast #40 for rank 0"),
        ([at("broadcast", 40, 0, frees_slot=True)], "waits in broadcast #40 for a free slot of rank 0"),
        (None, "does not answer"),
    ],
)
def test_the_late_ranks_own_place_is_told(late, words):
    standings = {0: [at("all_reduce", 41, 1)]} | ({} if late is None else {1: late})
    assert draw(RankStates(standings), 1) == f"rank 0 waits in all_reduce #41 for rank 1, which {words}"


def test_a_rank_that_waits_for_another_thing_than_an_operation_says_so():
    waiting = {0: [at("all_reduce", 41, 1)], 1: [called("all_reduce", 40)]}
    assert draw(RankStates(waiting, exchanging=[1]), 1).endswith("for rank 1, which waits in an exchange")
    assert draw(RankStates(waiting, left=[1]), 1).endswith("for rank 1, which has left")


def test_without_one_that_is_late_each_chain_is_told_to_its_end():
    standings = {rank: [at("all_reduce", 5, rank + 1)] for rank in (0, 1, 3)} | {2: [called("all_reduce", 4)]}
    assert draw(RankStates(standings)) == (
        "ranks 0 and 1 wait in all_reduce #5 for rank 2, which has called no collective since all_reduce #4; "
        "rank 3 waits in all_reduce #5 for rank 4, which does not answer"
    )


def test_ranks_in_other_operations_and_communicators_are_told_apart():
    standings = {
        0: [at("all_reduce", 2, 1)],
        1: [called("all_reduce", 1), at("all_reduce", 1, 0, communicator=9, ranks=[0, 1])],
    }
    assert draw(RankStates(standings), 1) == (
        "rank 0 waits in all_reduce #2 for rank 1, which waits in all_reduce #1 among ranks 0 and 1 for rank 0"
    )


def test_nothing_is_told_of_ranks_that_are_in_no_operation():
    assert draw(RankStates({0: [called("all_reduce", 3)], 1: [idle()], 2: []}), 1) == ""
    assert draw(RankStates({}), 1) == ""


def test_many_different_places_are_cut_short():
    assert draw(RankStates({rank: [at("all_reduce", rank + 1, -1)] for rank in range(50)})).endswith("; and more")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"count": 32}, "rank 2 called all_reduce of 32 float, sum: counts differ"),
        ({"dtype": "int32"}, "rank 2 called all_reduce of 64 int32, sum: types differ"),
        ({"op": "max"}, "rank 2 called all_reduce of 64 float, max: operators differ"),
        ({"count": 32, "dtype": "half"}, "rank 2 called all_reduce of 32 half, sum: counts and types differ"),
        (
            {"collective": "broadcast", "op": "", "root": 1},
            "rank 2 called broadcast of 64 float, root 1: collectives dif",
        ),
    ],
)
def test_what_differs_is_named(other, words):
    standings = {rank: [at("all_reduce", 3, (rank + 1) % 3)] for rank in range(2)} | {
        2: [at(**{"collective": "all_reduce"} | other, number=3, waits_for=0)]
    }
    told = parting(standings)
    assert told.startswith("ranks diverge at operation #3: ranks 0 and 1 called all_reduce of 64 float, sum; ")
    assert words in told


def test_the_first_operation_that_differs_is_named_though_ranks_have_gone_on():
    mine = Standing(
        0, [0, 1], [*called("all_reduce", 1).operations, *called("broadcast", 2, op="", root=0).operations], BlockedOn()
    )
    other = Standing(
        0, [0, 1], [*called("broadcast", 1, op="", root=0).operations, *at("all_reduce", 2, 0).operations], BlockedOn()
    )
    assert parting({0: [mine], 1: [other]}).startswith("ranks diverge at operation #1: rank 0 called all_reduce of 64")


def test_ranks_that_are_only_behind_do_not_part():
    assert parting({0: [called("all_reduce", 41)], 1: [called("all_reduce", 40)], 2: [idle()]}) == ""


def test_a_wait_that_ranks_can_never_end_is_told_as_a_mismatch():
    standings = {0: [at("all_reduce", 1, 1, count=64)], 1: [at("all_reduce", 1, 0, count=32)]}
    verdict = judge(Failure(message="nothing moved", at=0, rank=0, waits=(1, False)), RankStates(standings))
    assert verdict.mismatch
    assert verdict.rank == -1
    assert "counts differ" in verdict.message


def test_a_message_of_another_operation_without_records_is_told_by_who_got_it():
    verdict = judge(Failure(message="rank 1 sends for another operation", at=0, rank=0, mismatch=True), RankStates({}))
    assert verdict.message == "rank 0: rank 1 sends for another operation"


def test_what_the_network_brings_is_printable():
    wild = at("all\x1b[31m_reduce", 1, 1)
    assert "\x1b" not in draw(RankStates({0: [wild]}), 1) + parting({0: [wild], 1: [at("x\x1b", 1, 0)]})


STANDINGS = st.builds(
    at,
    collective=st.sampled_from(["all_reduce", "broadcast"]),
    number=st.integers(1, 3),
    waits_for=st.integers(-1, 6),
    frees_slot=st.booleans(),
    communicator=st.integers(0, 1) | st.just(2**64 - 1),
    ranks=st.lists(st.integers(0, 5), max_size=4),
) | st.just(idle())


@given(
    standings=st.dictionaries(st.integers(0, 5), st.lists(STANDINGS, max_size=2), max_size=6),
    waits=st.tuples(st.integers(-1, 6), st.booleans()),
    late=st.integers(-1, 6),
    rank=st.integers(-1, 5),
)
def test_any_standings_give_a_verdict(standings, waits, late, rank):
    verdict = judge(Failure(message="it failed", at=0.0, rank=rank, waits=waits, late=late), RankStates(standings))
    assert verdict.message
    assert "rank -1" not in draw(RankStates(standings), late)


@given(st.lists(STANDINGS, max_size=3))
def test_a_standing_travels_as_json(standings):
    assert read_json(json.dumps(standings).encode(), FROM_MEMBER[FrameKind.STATE]) == standings
