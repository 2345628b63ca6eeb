# SPDX-License-Identifier: Apache-2.0
"""The findings of counters."""

from collections.abc import Sequence

from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.traffic.passage import Passage

RULES: tuple[FileRule[Sequence[Passage]], ...] = found_in("railgauge.topo.findings.traffic", FileRule)


def findings(passages: Sequence[Passage]) -> list[Finding]:
    """What the counters of all hosts show."""
    return [finding for rule in RULES for finding in rule.find(passages, "counters")]
