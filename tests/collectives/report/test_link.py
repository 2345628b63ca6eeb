# SPDX-License-Identifier: Apache-2.0
"""Measured links as text: matrices where they fit, a summary always, and what stands out is marked."""

import pytest
from tests.collectives.link.synthetic import pair, result

from railgauge.cli.link.output import unmet_demands
from railgauge.collectives.link.bisection import Bisection, Half
from railgauge.collectives.link.judgement import judge
from railgauge.collectives.report.link import link_lines
from railgauge.topo.render.palette import Ink


def shown(made, width=None) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in link_lines(made, judge(made), width)]


def test_a_matrix_from_row_to_column():
    made = result(4, {(0, 1): pair((0, 1), (3.0, 7.0))})
    text = shown(made)
    at = text.index("NET/Socket: GB/s, one direction, from row to column")
    assert text[at + 1].split() == ["0", "1", "2", "3"]
    assert text[at + 2].split() == ["0", "gpu-00", "-", "3", "10", "10"]
    assert text[at + 3].split() == ["1", "gpu-01", "7", "-", "10", "10"]
    assert text[-3:-1] == [
        "  one direction   10 GB/s, 0.80 of the predicted 12.5; 3 (gpu-00 -> gpu-01) to 10 (gpu-03 -> gpu-02)",
        "  both directions 9 GB/s each",
    ]


@pytest.mark.parametrize(
    ("ranks", "width", "is_there"), [(16, None, True), (17, None, False), (8, 80, True), (16, 80, False)]
)
def test_matrices_are_left_out_where_they_do_not_fit(ranks, width, is_there):
    text = shown(result(ranks, {}), width)
    assert any("from row to column" in line for line in text) is is_there
    assert any(f"between hosts: {ranks * (ranks - 1) // 2} pairs" in line for line in text)
    assert width is None or not is_there or max(map(len, text[4 : 4 + ranks])) <= width


def test_halves_with_their_ranks_folded():
    made = result(6, {})
    made.bisection = Bisection([(Half([0, 1, 2], 1.0), Half([3, 4, 5], 0.25))], [3, 4, 5])
    assert shown(made)[2:] == ["step 1: gpu-[00-02] 1 GB/s; gpu-[03-05] 0.25 GB/s"]


def test_what_stands_out_is_marked_and_nothing_else():
    made = result(6, {(1, 3): pair((1, 3), (4.0, 4.0))})
    marked = [
        text.strip() for line in link_lines(made, judge(made), None) for text, style in line if style is Ink.STRONG_BAD
    ]
    assert marked == ["4", "4"]


@pytest.mark.parametrize(
    ("least", "unmet"),
    [
        (3.0, []),
        (4.0, ["NET/Socket/0 from gpu-00 to gpu-01 reaches 24 Gb/s, below the required 32 Gb/s"]),
        (
            8.0,
            [
                "NET/Socket/0 from gpu-00 to gpu-01 reaches 24 Gb/s, below the required 64 Gb/s"
                "; 2 more of 12 are too slow"
            ],
        ),
    ],
)
def test_what_is_too_slow_is_counted_and_the_slowest_named(least, unmet):
    made = result(4, {(0, 1): pair((0, 1), (3.0, 7.0)), (1, 2): pair((1, 2), (5.0, 10.0))})
    assert unmet_demands(made, least) == unmet
    assert unmet_demands(made, None) == []
