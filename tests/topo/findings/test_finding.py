# SPDX-License-Identifier: Apache-2.0
"""Findings: which count for a level."""

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
        (Level.UNKNOWN, {"WARN", "FAIL", "UNKNOWN"}),
    ],
)
def test_unknown_counts_only_when_it_is_asked_for(level, counted):
    assert {str(finding.level) for finding in at_or_above(ALL, level)} == counted
