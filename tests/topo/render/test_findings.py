# SPDX-License-Identifier: Apache-2.0
"""The one renderer of findings: the same finding reads the same wherever it is shown."""

import pytest

from railgauge.topo.findings.cluster.folding import Folded
from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.render import findings_html, findings_metrics
from railgauge.topo.render.findings import by_subject, cluster_lines, finding_lines, folded_lines, record


def finding(name="link-narrow", level=Level.WARN, subject="mlx5_0", message="x8 of x16", **more):
    return Finding(id=name, level=level, subject=subject, message=message, **more)


def texts(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_a_record_has_the_fields_of_the_contract():
    found = record(finding())
    assert list(found) == ["id", "level", "host", "subject", "evidence", "message", "effect", "remedy"]
    assert found["level"] == "WARN"


def test_a_record_tells_the_line_where_a_file_is_meant():
    found = record(finding(path="topo.xml", line=17))
    assert (found["path"], found["line"]) == ("topo.xml", 17)


@pytest.mark.parametrize("level", [Level.FAIL, Level.WARN, Level.INFO])
def test_a_finding_of_a_machine_of_a_file_and_of_many_nodes_reads_the_same(level):
    one = finding(level=level, effect="half the bandwidth", remedy="reseat the card")
    line = f"{level} link-narrow: mlx5_0: x8 of x16"
    below = ["    effect: half the bandwidth", "    remedy: reseat the card"]
    assert texts(folded_lines([one])) == [line, *below]
    assert texts(finding_lines([one])) == [line, *below, f"1 {level}"]
    named = line.replace("link-narrow: ", "link-narrow: all 2 nodes: ")
    assert texts(cluster_lines([Folded(one, 2)], 2)) == [named, *below]


def test_what_passed_and_what_is_unknown_take_a_line_each():
    found = [
        finding("a", Level.UNKNOWN, message="no sysfs"),
        finding("b", Level.UNKNOWN, message="no sysfs"),
        finding("c", Level.PASS),
        finding("d", Level.PASS),
    ]
    assert texts(folded_lines(found)) == ["UNKNOWN a, b: no sysfs", "PASS c, d"]
    nodes = [Folded(one, 1) for one in (*found, finding("e", Level.PASS, host="gpu2"))]
    assert texts(cluster_lines(nodes, 2)) == ["UNKNOWN nodes: a, b: no sysfs", "PASS nodes: c, d", "PASS gpu2: e"]


def test_findings_that_differ_by_subject_alone_are_one_the_worst_first():
    found = [finding(level=Level.PASS), *(finding(subject=f"GPU{number} mlx5_0") for number in range(8))]
    (first, *_, last), passed = by_subject(found)[0].subject.split(", "), by_subject(found)[1]
    assert (first, last) == ("GPU0 mlx5_0", "GPU5 mlx5_0 and 2 more")
    assert passed.level is Level.PASS


def test_no_line_of_a_finding_can_pass_for_another_one():
    forged = finding(subject="x\nPASS everything: fine", remedy="run\nthis\x1b[2J")
    for text in (*texts(finding_lines([forged])), *texts(cluster_lines([Folded(forged, 1)], 1))):
        assert "\n" not in text
        assert "\x1b" not in text


def test_a_page_and_metrics_hold_every_level():
    found = [finding(f"id-{level.lower()}", level) for level in LEVELS]
    page, metrics = findings_html.html(found), findings_metrics.dumps(found, "gpu1", 0.0)
    for one in found:
        assert f"<code>{one.id}</code>" in page
        assert (f'id="{one.id}"' in metrics) == (one.level is not Level.PASS)
