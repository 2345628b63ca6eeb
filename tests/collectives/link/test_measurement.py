# SPDX-License-Identifier: Apache-2.0
"""Ranks measure all their links: each pair by each way, as planned, checked, and all ranks know the same."""

import itertools

import pytest
from tests.transports.ranks import on_ranks

from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.measurement import measure
from railgauge.collectives.link.pair_result import Moved
from railgauge.topo.errors import MismatchError, RunError, UsageError, VerificationError
from railgauge.transports.fault import parse_fault

LONG = 1_200_001


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def job(**others) -> LinkJob:
    return LinkJob(**{"bytes": LONG, "latency_bytes": 5, "iterations": 2, "timeout_s": 20.0} | others)


def measured(ranks: int, *jobs: LinkJob) -> list[LinkResult | Exception]:
    """What each rank has in the end, or raised; all have one job, or one each."""

    def body(bootstrap):
        result = LinkResult(job=jobs[bootstrap.rank % len(jobs)])
        measure(bootstrap, result.job, result, lambda _text: None)
        return result

    return on_ranks(ranks, body)


def test_of_a_short_message_latency_alone_is_foretold():
    result, _ = measured(2, job(bytes=4096))
    through_memory = result.links[0]
    assert through_memory.predicted_gb_per_s is None
    assert through_memory.predicted_latency_us


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_every_pair_is_measured_by_every_way(ranks):
    first, *others = measured(ranks, job())
    assert isinstance(first, LinkResult), first
    assert all(other == first for other in others)
    for transport in ("SHM", "NET/Socket"):
        links = [link for link in first.links if link.transport == transport]
        assert sorted(link.ranks for link in links) == list(itertools.combinations(range(ranks), 2))
        for link in links:
            assert link.via == link.planned == (("SHM",) * 2 if transport == "SHM" else ("NET/Socket/0",) * 2)
            assert min(*link.gb_per_s, link.both_ways_gb_per_s, link.latency_us, link.predicted_gb_per_s) > 0
            due = link.measured * (9 * LONG + 53 * 5)
            assert link.moved == Moved(due, sent=(due, due), received=(due, due))
            assert link.wrong == (0, 0)
    assert [place.rank for place in first.ranks] == list(range(ranks))


def test_one_pair_alone_leaves_the_others_in_peace():
    for result in measured(4, job(pair=(1, 3), transport="SHM")):
        assert [(link.ranks, link.transport) for link in result.links] == [((1, 3), "SHM")]


def test_one_at_a_time_has_a_round_for_each_pair():
    links = measured(3, job(one_at_a_time=True, transport="SHM"))[0].links
    assert [(link.round, link.ranks) for link in links] == [(0, (0, 1)), (1, (0, 2)), (2, (1, 2))]


def test_a_pair_that_is_not_clear_is_measured_again_until_it_is(monkeypatch):
    asked = itertools.count()

    def once_more(links):
        if next(asked) > 30:
            return []
        return [place for place, link in enumerate(links) if link.ranks == (0, 2) and link.measured < 3]

    monkeypatch.setattr("railgauge.collectives.link.measurement.to_measure_again", once_more)
    results = measured(3, job(transport="SHM"))
    for result in results:
        assert {link.ranks: link.measured for link in result.links} == {(0, 1): 1, (0, 2): 3, (1, 2): 1}
        assert {link.moved.sent[0] / link.measured for link in result.links} == {result.job.bytes_each_way}
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("channel", [0, 1])
@pytest.mark.parametrize("message", [0, 2])
def test_a_damaged_byte_is_found_on_every_transport(channel, message):
    """The first message checked is the short one, the last one ends the long one."""
    fault = parse_fault(f"flip:rank=1,channel={channel},message={message}")
    errors = measured(3, job(fault=fault))
    assert all(isinstance(error, VerificationError) for error in errors), errors
    via = ("SHM", "NET/Socket/0")[channel]
    assert f"1 bytes from rank 1 over {via} are wrong: random data: index" in str(errors[0])


def test_a_fault_that_never_comes_is_no_success():
    errors = measured(2, job(fault=parse_fault("flip:message=1000000")))
    assert all(isinstance(error, RunError) and "did not occur" in str(error) for error in errors), errors


@pytest.mark.parametrize(
    ("ranks", "asked", "words"),
    [
        (1, {}, "at least two ranks"),
        (2, {"pair": (0, 2)}, "ranks are 0 to 1"),
        (2, {"transport": "NET/XY"}, "transports are SHM"),
        (3, {"bisect": True}, "at least 4"),
    ],
)
def test_what_makes_no_sense_for_these_ranks_is_refused(ranks, asked, words):
    for error in measured(ranks, job(**asked)):
        assert isinstance(error, UsageError)
        assert words in str(error)


def test_ranks_that_were_asked_for_different_things_are_told_so():
    errors = measured(2, job(), job(iterations=3))
    assert all(isinstance(error, MismatchError) and "-n differs" in str(error) for error in errors), errors
