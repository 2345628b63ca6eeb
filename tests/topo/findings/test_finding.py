# SPDX-License-Identifier: Apache-2.0
"""Findings: which count for a level, and what a document says of one."""

import pytest

from railgauge.topo.findings.finding import Finding, Level, at_or_above

ALL = tuple(Finding(id="a", level=level, subject="0000:18:00.0", message="m") for level in Level)


@pytest.mark.parametrize(
    ("level", "counted"),
    [
        (Level.PASS, {"PASS", "INFO", "WARN", "FAIL"}),
        (Level.INFO, {"INFO", "WARN", "FAIL"}),
        (Level.WARN, {"WARN", "FAIL"}),
        (Level.FAIL, {"FAIL"}),
        (Level.UNKNOWN, {"FAIL", "UNKNOWN"}),
    ],
)
def test_unknown_counts_only_when_it_is_asked_for(level, counted):
    assert {str(finding.level) for finding in at_or_above(ALL, level)} == counted


def test_a_record_has_the_fields_of_the_contract():
    record = ALL[0].record()
    assert list(record) == ["id", "level", "host", "subject", "evidence", "message", "effect", "remedy"]
    assert record["level"] == "PASS"


def test_a_record_tells_the_line_where_a_file_is_meant():
    finding = Finding(id="a", level=Level.WARN, subject="s", message="m", path="topo.xml", line=17)
    assert (finding.record()["path"], finding.record()["line"]) == ("topo.xml", 17)
