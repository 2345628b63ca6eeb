# SPDX-License-Identifier: Apache-2.0
"""What two readings of a counter tell: wraps are told from counters that were set back, and nothing is made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.topo.findings.traffic.links import link

from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters
from railgauge.topo.findings.traffic.passed import passed

WRAP = 1 << 32


def test_all_counters_of_one_way_are_compared():
    counts = {"data": 100, "packets": 3, "errors": 1, "dropped": 0}
    later = {"data": 1600, "packets": 4, "errors": 1, "dropped": 2}
    before, after = (
        LinkCounters(
            kind=CounterKind.INTERFACE,
            name="eth0",
            counts={ByteDirection.SENT: {"data": 0}, ByteDirection.RECEIVED: some},
        )
        for some in (counts, later)
    )
    got = passed(before, after, ByteDirection.RECEIVED)
    assert (got.bytes, got.packets, got.errors, got.dropped, got.why) == (1500, 1, 0, 2, "")
    assert passed(before, after, ByteDirection.SENT).packets is None


def test_words_of_four_bytes_are_told_as_bytes():
    before, after = (link(sent=words, unit_bytes=4) for words in (10, 25))
    assert passed(before, after, ByteDirection.SENT).bytes == 60


@given(st.integers(0, WRAP - 1), st.integers(1, WRAP - 1))
def test_bytes_that_begin_at_0_again_while_packets_rise_have_wrapped(start, moved):
    before, after = link(sent=start, packets=1000), link(sent=(start + moved) % WRAP, packets=1001)
    assert passed(before, after, ByteDirection.SENT).bytes == moved


@given(st.integers(1, WRAP - 1), st.integers(1, WRAP - 1))
def test_a_counter_that_is_known_to_wrap_needs_no_packets_beside_it(start, moved):
    before, after = (link(sent=value, wraps_at=WRAP) for value in (start, (start + moved) % WRAP))
    assert passed(before, after, ByteDirection.SENT).bytes == moved


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (link(sent=5000, packets=10), link(sent=100, packets=1)),
        (link(sent=5000), link(sent=100)),
        (link(sent=2 * WRAP, packets=10), link(sent=100, packets=11)),
    ],
    ids=["packets fell too", "no packets are counted", "too large for 32 bits"],
)
def test_counters_that_were_set_back_tell_nothing(before, after):
    got = passed(before, after, ByteDirection.SENT)
    assert (got.bytes, got.why) == (None, "its counters were reset meanwhile")


def test_a_link_that_was_made_anew_tells_nothing_although_its_counters_are_higher():
    got = passed(link(sent=10, made="4"), link(sent=99, made="7"), ByteDirection.SENT)
    assert (got.bytes, got.why) == (None, "it was recreated meanwhile")


def test_a_link_that_comes_or_goes_tells_nothing():
    assert passed(None, link(), ByteDirection.SENT).why == "it was created meanwhile"
    assert passed(link(), None, ByteDirection.SENT).why == "it was removed meanwhile"


def test_what_cannot_be_read_is_told_with_its_reason():
    unreadable = LinkCounters(
        kind=CounterKind.INTERFACE,
        name="eth0",
        counts={ByteDirection.SENT: {}, ByteDirection.RECEIVED: {}},
        unread="Permission denied",
    )
    assert passed(unreadable, unreadable, ByteDirection.SENT).why == "Permission denied"
    assert passed(link(), unreadable, ByteDirection.SENT).why == "Permission denied"
