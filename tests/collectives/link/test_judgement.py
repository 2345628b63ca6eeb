# SPDX-License-Identifier: Apache-2.0
"""Findings about synthetic results: who is named, how badly, and in which words."""

from dataclasses import replace
from itertools import combinations

import pytest
from tests.collectives.link.synthetic import pair, result

from railgauge.collectives.link.again import LEAST_OTHERS
from railgauge.collectives.link.bisection import Bisection, Half
from railgauge.collectives.link.expected import Figures, OlderLinks
from railgauge.collectives.link.gpu_path import GpuPath
from railgauge.collectives.link.judgement import judge, to_measure_again
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.pair_result import PairSample
from railgauge.topo.findings.finding import Level


def told(made: LinkResult) -> list[tuple[str, str, str]]:
    return [(finding.id, str(finding.level), finding.subject) for finding in judge(made)]


def test_where_all_are_alike_both_quantities_pass():
    made = result(5, {})
    assert told(made) == [("slow-link", "PASS", "NET/Socket"), ("link-latency", "PASS", "NET/Socket")]
    assert to_measure_again(made.links) == []


@pytest.mark.parametrize(("speed", "level"), [(6.0, "WARN"), (4.0, "FAIL")])
def test_a_slow_host_is_named_by_how_slow_it_is(speed, level):
    made = result(5, {(low, 4): pair((low, 4), (speed, speed)) for low in range(4)})
    assert told(made)[0] == ("slow-node", level, "gpu-04")
    finding = judge(made)[0]
    assert finding.message.startswith(f"NET/Socket: most of its links have {speed:g} GB/s, {speed / 10:.2f} of what")
    assert (finding.host, finding.evidence["ratio"]) == ("gpu-04", pytest.approx(speed / 10))
    assert to_measure_again(made.links) == []
    assert "when it" not in finding.message


@pytest.mark.parametrize(("at", "words"), [(0, "when it receives"), (1, "when it sends")])
def test_a_host_that_is_slow_one_way_is_named_with_that_way(at, words):
    speeds = (4.0, 10.0) if at == 0 else (10.0, 4.0)
    made = result(5, {(low, 4): pair((low, 4), speeds) for low in range(4)})
    assert told(made)[0] == ("slow-node", "FAIL", "gpu-04")
    assert f"most of its links {words} have 4 GB/s" in judge(made)[0].message
    slow = [[low, 4] if at == 0 else [4, low] for low in range(4)]
    assert judge(made)[0].evidence["slow"] == slow


def test_what_is_slow_once_is_measured_again_beside_others_and_nobody_is_named_before():
    made = result(5, {})
    at = next(place for place, link in enumerate(made.links) if link.ranks == (1, 3))
    made.links = [replace(link, samples=link.samples[:1]) for link in made.links]
    made.links[at] = replace(made.links[at], samples=(PairSample((10.0, 4.0), 9.0, 20.0),))
    places = to_measure_again(made.links)
    assert at in places
    assert len(places) == 1 + LEAST_OTHERS
    assert told(made)[0] == ("slow-link", "UNKNOWN", "NET/Socket")
    assert "gpu-01 - gpu-03 slow in 1 measurement" in judge(made)[0].message
    made.links[at] = made.links[at].and_again(pair((1, 3)))
    assert to_measure_again(made.links) == []
    assert told(made)[0] == ("slow-link", "PASS", "NET/Socket")


def test_where_a_few_are_faster_than_most_nobody_passes():
    """Two slow hosts of four: most pairs are slow."""
    made = result(4, {(0, 1): pair((0, 1), (40.0, 40.0))})
    assert told(made)[0] == ("slow-link", "UNKNOWN", "NET/Socket")
    assert "gpu-00 - gpu-01 much faster than most" in judge(made)[0].message


def test_a_link_that_is_slow_one_way_is_named_with_that_way():
    made = result(5, {(1, 3): pair((1, 3), (10.0, 4.0))})
    assert told(made)[0] == ("slow-link", "FAIL", "gpu-01 - gpu-03")
    assert "only from gpu-03 to gpu-01; 10 GB/s back" in judge(made)[0].message


def test_a_slow_answer_is_a_finding_of_its_own():
    made = result(5, {(1, 3): pair((1, 3), latency_us=60.0)})
    assert told(made) == [("slow-link", "PASS", "NET/Socket"), ("link-latency", "WARN", "gpu-01 - gpu-03")]
    assert "60 us, 3.0 times of what the other pairs have (20 us)" in judge(made)[1].message


def test_of_three_ranks_the_prediction_is_the_judge_and_without_one_nothing_is_said():
    made = result(3, {(0, 1): pair((0, 1), (1.0, 1.0))})
    assert told(made)[0] == ("slow-link", "FAIL", "gpu-00 - gpu-01")
    made.links = [replace(link, predicted_gb_per_s=None, predicted_latency_us=None) for link in made.links]
    assert [level for _, level, _ in told(made)] == ["UNKNOWN", "UNKNOWN"]


def test_where_values_scatter_widely_nobody_passes():
    speeds = dict(zip(combinations(range(5), 2), (1, 2, 4, 8, 16, 3, 6, 12, 5, 9), strict=True))
    made = result(5, {ends: pair(ends, (speed, speed)) for ends, speed in speeds.items()})
    assert told(made)[0] == ("slow-link", "UNKNOWN", "NET/Socket")
    assert "vary so much" in judge(made)[0].message


def test_nothing_is_said_of_ranks_that_shared_cores():
    made = result(5, {(1, 3): pair((1, 3), (1.0, 1.0))})
    made.links = [replace(link, crowded=True) for link in made.links]
    assert [level for _, level, _ in told(made)] == ["UNKNOWN", "UNKNOWN"]
    assert to_measure_again(made.links) == []
    made.bisection = Bisection([], [3], crowded=True)
    assert told(made) == [("slow-node", "UNKNOWN", "all")]


@pytest.mark.parametrize(
    ("speeds", "level", "words"),
    [
        ((10.0, 10.0), "PASS", "0.8 of the predicted 12.5"),
        ((10.0, 9.0), "WARN", "9 GB/s, 0.72 of the predicted 12.5"),
        ((6.0, 5.0), "FAIL", "5 GB/s, 0.4 of the predicted 12.5; 1 more of 2 are slow"),
    ],
)
def test_one_pair_is_held_against_its_prediction(speeds, level, words):
    made = result(2, {(0, 1): pair((0, 1), speeds)})
    assert [each[:2] for each in told(made)] == [("slow-link", level), ("link-latency", "PASS")]
    finding = judge(made)[0]
    assert words in finding.message
    if level != "PASS":
        assert finding.subject == "gpu-01 - gpu-00"


def test_one_pair_that_is_slow_is_measured_again_until_it_was_often_enough():
    made = result(2, {(0, 1): pair((0, 1), (6.0, 5.0))})
    assert to_measure_again(made.links) == [0]
    made.links[0] = made.links[0].and_again(pair((0, 1), (6.0, 6.0)))
    assert to_measure_again(made.links) == []
    assert to_measure_again(result(2, {}).links) == []


def test_a_latency_of_many_times_the_prediction_is_slow():
    made = result(2, {(0, 1): pair((0, 1), latency_us=100.0)})
    assert [each[:2] for each in told(made)] == [("slow-link", "PASS"), ("link-latency", "WARN")]
    assert "100 us, 5 times the predicted 20" in judge(made)[1].message


def test_one_pair_without_a_prediction_is_unknown():
    made = result(2, {})
    made.links = [replace(link, predicted_gb_per_s=None) for link in made.links]
    assert [each[:2] for each in told(made)] == [("slow-link", "UNKNOWN"), ("link-latency", "PASS")]


def older(figures, size=1 << 20):
    key = ("gpu-00", "gpu-01", "NET/Socket", 0, None)
    return OlderLinks("old.json", size, {key: figures, (*key[1::-1], *key[2:]): figures})


@pytest.mark.parametrize("ranks", [2, 5])
def test_an_older_result_finds_what_all_others_have_too(ranks):
    made = result(ranks, {})
    assert [each[1] for each in told(made)] == ["PASS", "PASS"]
    found = judge(made, older(Figures(25.0, 5.0)))
    assert [(one.id, str(one.level)) for one in found if one.level is not Level.PASS] == [
        ("slow-link", "FAIL"),
        ("link-latency", "WARN"),
    ]
    assert "10 GB/s, 0.4 of 25 in old.json" in found[0].message
    assert {str(one.level) for one in judge(made, older(Figures(10.0, 20.0)))} == {"PASS"}


def test_an_older_result_of_another_size_is_no_judge():
    (found, _) = judge(result(2, {}), older(Figures(25.0, 5.0), size=1 << 10))
    assert (str(found.level), "predicted" in found.message) == ("PASS", True)


@pytest.mark.parametrize("is_short", [False, True])
def test_a_short_message_between_gpus_is_not_held_against_what_the_path_carries(is_short):
    path = GpuPath(type="NVL", nvlinks=18, gb_per_s=12.5)
    slow = replace(pair((0, 1), (1.0, 1.0)), path=path, is_short=is_short)
    found = judge(result(2, {(0, 1): slow}))[0]
    assert found.level is (Level.UNKNOWN if is_short else Level.FAIL)
    assert ("too short to show what a path carries" in found.message) is is_short


def test_pairs_of_which_another_speed_was_predicted_are_not_compared():
    """The second rail is a slower one."""
    made = result(5, {})
    made.links += [
        replace(link, predicted_gb_per_s=2.5, samples=(PairSample((2.0, 2.0), 9.0, 20.0),), rail=1)
        for link in made.links
    ]
    assert {(level, subject) for _, level, subject in told(made)} == {
        ("PASS", "NET/Socket"),
        ("PASS", "NET/Socket rail 1"),
    }


def test_ranks_are_named_by_their_hosts_where_these_tell_them_apart():
    made = result(4, {})
    assert made.name(3) == "gpu-03"
    made.ranks = [RankPlace(rank=rank, host=f"gpu-{rank // 2:02}", numa=0) for rank in range(4)]
    assert made.name(3) == "rank 3 on gpu-01"
    made.ranks = [RankPlace(rank=rank, host="gpu-00", numa=0) for rank in range(4)]
    assert made.name(3) == "rank 3"


@pytest.mark.parametrize(
    ("slow", "told_of", "subject"),
    [
        ([], ("slow-node", "PASS"), "all"),
        ([3], ("slow-node", "FAIL"), "gpu-03"),
        ([2, 3], ("slow-link", "FAIL"), "gpu-[02-03]"),
    ],
)
def test_what_halving_leaves(slow, told_of, subject):
    made = result(4, {})
    made.bisection = Bisection([(Half([0, 1], 10.0), Half([2, 3], 4.0 if slow else 10.0))], slow)
    (finding,) = judge(made)
    assert ((finding.id, str(finding.level)), finding.subject) == (told_of, subject)
