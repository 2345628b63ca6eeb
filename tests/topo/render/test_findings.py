# SPDX-License-Identifier: Apache-2.0
"""The one renderer of findings: the same finding reads the same wherever it is shown, and a cause is one entry."""

import pytest

from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.render import findings_html, findings_metrics
from railgauge.topo.render.findings import (
    Detail,
    cause_groups,
    cause_lines,
    consequences,
    finding_lines,
    folded_lines,
    record,
)


def finding(name="link-narrow", level=Level.WARN, subject="mlx5_0", message="x8 of x16", **more):
    return Finding(id=name, level=level, subject=subject, message=message, **more)


def texts(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_a_record_has_the_fields_of_the_contract():
    found = record(finding())
    assert list(found) == ["id", "level", "host", "subject", "evidence", "message", "effect", "remedy"]
    assert found["level"] == "WARN"


def test_no_cause_is_searched_for_what_names_none(monkeypatch):
    """17,000 findings of a broken fabric would compare each with each."""
    monkeypatch.setattr("railgauge.topo.render.findings.is_cause", None)
    assert consequences([finding(subject=f"mlx5_{one}") for one in range(3)]) == {}


def test_a_record_tells_the_line_where_a_file_is_meant():
    found = record(finding(path="topo.xml", line=17))
    assert (found["path"], found["line"]) == ("topo.xml", 17)


@pytest.mark.parametrize("level", [Level.FAIL, Level.WARN, Level.INFO])
def test_a_finding_of_a_machine_of_a_file_and_of_many_nodes_reads_the_same(level):
    one = finding(level=level, effect="half the bandwidth", remedy="reseat the card", host="gpu[1-2]")
    line = f"{level} link-narrow: mlx5_0: x8 of x16"
    below = ["    effect: half the bandwidth", "    remedy: reseat the card"]
    assert texts(folded_lines([one])) == [line, *below]
    assert texts(finding_lines([one])) == [line, *below, f"1 {level}"]
    named = line.replace("link-narrow: ", "link-narrow: gpu[1-2]: ")
    assert texts(cause_lines([one], set(), names_hosts=True)) == [named, *below]


def test_ports_of_one_cause_are_one_entry_that_names_all():
    found = [
        finding(
            subject=f"mlx5_{number}:1",
            message=f"mlx5_{number}:1: MTU 1024, for eth{number} has 1500",
            effect=f"NIC{number} is slow",
            remedy="set the MTU",
        )
        for number in range(16)
    ]
    lines = texts(folded_lines(found))
    assert lines[0] == "WARN link-narrow: mlx5_0:1: MTU 1024, for eth0 has 1500"
    assert lines[1] == f"    also: {', '.join(f'mlx5_{number}:1' for number in range(1, 16))}"
    assert lines[2:] == ["    effect: NIC0 is slow", "    remedy: set the MTU"]
    assert len([line for line in texts(folded_lines(found, Detail.FULL)) if line.startswith("WARN")]) == 16


def test_the_nodes_of_one_cause_are_folded_and_never_cut():
    """Each node has a value or a time of its own: one entry, with all nodes that have the same device together."""
    found = [
        finding(subject="GPU3", message=f"GPU3: Xid 48, {100 + number} s after boot", host=f"gpu{number:03}")
        for number in range(1, 513)
    ]
    found.append(finding(subject="GPU5", message="GPU5: Xid 48, 9 s after boot", host="gpu[600-601] (2 of 602 nodes)"))
    (group,) = cause_groups(found)
    lines = texts(cause_lines(group, set(), names_hosts=True))
    assert lines[0] == "WARN link-narrow: gpu001: GPU3: Xid 48, 101 s after boot"
    assert lines[1] == "    also: gpu[002-512]: GPU3; gpu[600-601] (2 of 602 nodes): GPU5"


@pytest.mark.parametrize("other", [{"message": "x4 of x16"}, {"name": "another"}, {"level": Level.FAIL}])
def test_findings_that_differ_in_more_than_a_device_are_two(other):
    lines = texts(folded_lines([finding(), finding(**({"subject": "mlx5_1"} | other))]))
    assert len([line for line in lines if not line.startswith(" ")]) == 2


def test_the_worst_is_first_and_brief_has_a_line_for_what_is_bad():
    found = [finding("a", Level.INFO), finding("b", Level.WARN, remedy="r"), finding("c", Level.FAIL)]
    assert [line.split(":")[0] for line in texts(folded_lines(found))] == ["FAIL c", "WARN b", "    remedy", "INFO a"]
    assert [line.split(":")[0] for line in texts(folded_lines(found, Detail.BRIEF))] == ["FAIL c", "WARN b"]


def test_what_passed_and_what_is_unknown_take_a_line_each_and_are_counted_if_many():
    unknown = [finding(name, Level.UNKNOWN, message="no sysfs") for name in "ab"]
    passed = [finding(name, Level.PASS) for name in "cd"]
    assert texts(folded_lines([*unknown, *passed])) == ["UNKNOWN a, b: no sysfs", "PASS c, d"]
    reasons = ["its size was not captured", "readable by root only", "settings were not captured", "no state reported"]
    unknown = [finding(f"u{number}", Level.UNKNOWN, message=text) for number, text in enumerate(reasons)]
    passed = [finding(f"p{number}", Level.PASS) for number in range(24)]
    assert texts(folded_lines([*unknown, *passed])) == [
        "4 checks not possible: 2 not captured, 1 needs root, 1 for another reason (-v)",
        "24 passed (-v)",
    ]
    assert len(texts(folded_lines([*unknown, *passed], Detail.FULL))) == 5


def test_an_id_that_was_found_does_not_pass():
    assert texts(folded_lines([finding("a"), finding("a", Level.PASS)])) == ["WARN a: mlx5_0: x8 of x16"]


def test_an_error_of_railgauge_is_shown_among_many_unknown():
    found = [finding(f"u{number}", Level.UNKNOWN, message="not captured") for number in range(9)]
    lines = texts(folded_lines([*found, finding("x", Level.UNKNOWN, message="internal error", error="KeyError")]))
    assert lines[0] == "UNKNOWN x: internal error"


def test_no_line_of_a_finding_can_pass_for_another_one():
    forged = finding(subject="x\nPASS everything: fine", remedy="run\nthis\x1b[2J", host="a\nb")
    shown = (finding_lines([forged, forged]), cause_lines([forged, forged], set(), names_hosts=True))
    for text in (text for lines in shown for text in texts(lines)):
        assert "\n" not in text
        assert "\x1b" not in text


def test_a_page_and_metrics_hold_every_level():
    found = [finding(f"id-{level.lower()}", level) for level in LEVELS]
    page, metrics = findings_html.html(found), findings_metrics.dumps(found, "gpu1", 0.0)
    for one in found:
        assert f"<code>{one.id}</code>" in page
        assert f'<span class="level {one.level}">{one.level}</span>' in page
        assert (f'id="{one.id}"' in metrics) == (one.level is not Level.PASS)


def test_a_page_shows_a_cause_once_with_what_follows_below_it():
    follows = {"follows_from": ["a", "mlx5_0"], "counts": {"x": 1}, "up": True}
    below = finding("b", message="less (follows from a: mlx5_0)", evidence=follows)
    page = findings_html.html([finding("a"), finding("a", subject="mlx5_1"), below])
    assert page.count('class="finding ') == 1
    assert "<dt>follows</dt><dd>WARN b: mlx5_0: less</dd>" in page
    assert "<dt>also</dt><dd>mlx5_1</dd>" in page
    alone = findings_html.html([below])
    assert "<dt>counts</dt><dd>x 1</dd>" in alone
    assert "<dt>up</dt><dd>yes</dd>" in alone
