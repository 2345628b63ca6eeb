# SPDX-License-Identifier: Apache-2.0
"""The picture and the page of a result: what they show, that all of it lies inside, and that nothing is loaded."""

import csv
import io
import re
from xml.etree import ElementTree

import pytest
from tests.collectives.results import result, row, timing

from railgauge.collectives.report import page, svg
from railgauge.collectives.report.chart import CurveKind, chart
from railgauge.collectives.report.table import csv_text

SIZES = [8 << 2 * i for i in range(8)]
SCAN = result(*(row(size, 5 + size / 1e4, 4 + size / 2e4) for size in SIZES))
NO_LINES = {"predicted_busbw_gb_per_s": 0.0, "floor_us": None}
SVG = "{http://www.w3.org/2000/svg}"


def drawn(document, before=None):
    return ElementTree.fromstring(svg.dumps(chart(document, before)))


def of_class(tree, name):
    return [node for node in tree.iter() if name in node.get("class", "").split()]


def texts(tree):
    return [node.text for node in tree.iter(f"{SVG}text")]


def test_both_ways_the_prediction_and_memorys_limit_are_shown():
    tree = drawn(SCAN)
    assert {node.get("class") for node in of_class(tree, "curve")} == {
        "curve out",
        "curve in",
        "curve predicted",
        "curve floor",
    }
    assert len(of_class(tree, "point")) == 2 * len(SIZES) + 2  # and in the legend
    assert {"all_reduce, 2 ranks on gpu-01, host memory", "railgauge run all_reduce", "float sum", "ring"} < {
        *texts(tree)
    }
    assert "measured memory limit" in texts(tree)


def test_memorys_limit_is_the_least_time_as_bus_bandwidth():
    """Of 3 ranks all_reduce has the factor 4/3; of repeated rows the quickest copy counts."""
    rows = [row(3000, floor_us=us) for us in (2.0, 1.0)]
    (panel,) = chart(result(*rows, ranks=3)).panels
    (floor,) = (curve for curve in panel.curves if curve.kind is CurveKind.FLOOR)
    assert [point.gb_per_s for point in floor.points] == [pytest.approx(4.0)]


def test_between_nodes_the_limit_is_that_of_the_planned_channels():
    tree = drawn(result(*(row(size, floor_us=None) for size in SIZES), nodes=2))
    assert "planned between nodes, 6 GB/s" in texts(tree)
    assert of_class(tree, "planned")
    assert not of_class(tree, "floor")


def test_a_point_tells_what_it_is():
    notes = [note.text for node in of_class(drawn(SCAN), "point") for note in node]
    assert notes[0] == "8 B out of place: 0.0016 GB/s, 5.001 us; ring, simple, 2 channels"


@pytest.mark.parametrize("ways", [{}, {"before": SCAN}])
def test_everything_lies_inside(ways):
    tree = drawn(
        result(*SCAN.rows, *(row(size, dtype=d) for d in ("half", "int8", "uint8") for size in (0, 8, 1 << 30))), **ways
    )
    width, height = float(tree.get("width")), float(tree.get("height"))
    for node in tree.iter():
        points = re.findall(r"(-?[\d.]+) (-?[\d.]+)", node.get("d", ""))
        points += [(node.get(x), node.get(y)) for x, y in (("x", "y"), ("cx", "cy")) if node.get(x)]
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in points), node.attrib


def test_larger_is_higher_and_further_right():
    places = [(float(n.get("cx")), float(n.get("cy"))) for n in of_class(drawn(SCAN), "point") if n.get("cx")][1:]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_the_curves_lie_below_the_title_of_their_panel():
    tree = drawn(SCAN)
    (title,) = of_class(tree, "title")
    heights = [float(y) for line in of_class(tree, "axis") for y in re.findall(r"-?[\d.]+ (-?[\d.]+)", line.get("d"))]
    assert float(title.get("y")) < min(heights)


def test_there_is_a_panel_for_each_variant():
    document = result(*(row(size, redop=op, root=r) for size in (8, 64) for op in ("sum", "max") for r in (-1, 1)))
    assert [panel.title for panel in chart(document).panels] == [
        "float sum",
        "float sum root 1",
        "float max",
        "float max root 1",
    ]


def test_an_older_result_is_behind_the_new_one():
    kinds = [curve.kind for curve in chart(SCAN, result(row(8), row(1 << 20), row(8, dtype="half"))).panels[0].curves]
    assert kinds[1:] == [
        CurveKind.BEFORE_OUT_OF_PLACE,
        CurveKind.BEFORE_IN_PLACE,
        CurveKind.PREDICTED,
        CurveKind.OUT_OF_PLACE,
        CurveKind.IN_PLACE,
    ]
    assert "before" in texts(drawn(SCAN, SCAN))


def test_the_algorithm_of_each_size_is_named():
    document = result(*(row(size, algorithm="one-shot" if size < 1000 else "ring") for size in SIZES))
    (panel,) = chart(document).panels
    assert [(span.first, span.last, span.algorithm) for span in panel.spans] == [
        (8, 512, "one-shot"),
        (2048, 131072, "ring"),
    ]
    assert {"one-shot", "ring"} < {*texts(drawn(document))}


def test_one_size_can_be_seen():
    tree = drawn(result(row(1 << 25)))
    _in_legend, predicted = (node.get("d") for node in of_class(tree, "predicted"))
    (left, _), (right, _) = re.findall(r"([\d.]+) ([\d.]+)", predicted)
    assert float(left) + 20 < float(right)
    assert "32M" in texts(tree)


@pytest.mark.parametrize(
    "document",
    [
        result(),
        result(planned_gb_per_s=None),
        result(row(0)),
        result(row(8, out_of_place=timing(8, 1, 0.0), in_place=timing(8, 1, 0.0), **NO_LINES)),
    ],
    ids=["failed", "failed early", "nothing moved", "one rank"],
)
def test_nothing_to_show_is_said(document):
    assert svg.NOTHING in texts(drawn(document))


def test_names_are_escaped():
    document = result(row(8, dtype='<b>&"'), host="<script>", command=["run", "<&>", "'"], error="</svg>&")
    assert "<script>" not in svg.dumps(chart(document))
    assert "all_reduce, 2 ranks on <script>, host memory" in texts(drawn(document))
    text = page.dumps(chart(document), document)
    assert "<script" not in text
    assert "&lt;/svg&gt;" in text


def test_the_same_result_gives_the_same_picture():
    assert svg.dumps(chart(SCAN)) == svg.dumps(chart(SCAN))


def test_a_page_loads_nothing():
    text = page.dumps(chart(SCAN), SCAN)
    assert not re.search(r"<script|<link|<img|@import|url\(|(?:src|href)=", text)
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
    assert text.count("<tr>") == 1 + len(SCAN.rows) + 1 + len(SCAN.connections)


def test_a_long_command_is_cut():
    shown = texts(drawn(result(row(8), command=["run", *["--verbose"] * 100])))
    assert any(text.startswith("railgauge run --verbose") and text.endswith("...") for text in shown)


def test_csv_has_every_figure():
    lines = list(csv.DictReader(io.StringIO(csv_text(result(row(8), row(64, in_place=timing(64, 2, wrong=None)))))))
    assert [line["bytes"] for line in lines] == ["8", "64"]
    assert lines[0]["collective"] == "all_reduce"
    assert float(lines[0]["out_of_place_busbw_gb_per_s"]) == pytest.approx(0.0008)
    assert [line["in_place_wrong"] for line in lines] == ["0", ""]


def test_csv_of_nothing_is_empty():
    assert csv_text(result()) == ""
