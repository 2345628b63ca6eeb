# SPDX-License-Identifier: Apache-2.0
"""The findings of counters."""

from collections.abc import Sequence

from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic

RULES: tuple[FileRule[Sequence[LinkTraffic]], ...] = found_in("railgauge.topo.findings.traffic", FileRule)


def findings(traffic: Sequence[LinkTraffic]) -> list[Finding]:
    """The findings from the counters of all hosts."""
    return [finding for rule in RULES for finding in rule.find(traffic, "counters")]
