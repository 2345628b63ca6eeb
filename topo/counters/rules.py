# SPDX-License-Identifier: Apache-2.0
"""The findings of counters."""

from collections.abc import Sequence

from railgauge.topo.counters import traffic_elsewhere, traffic_errors
from railgauge.topo.counters.passage import Passage
from railgauge.topo.file_rule import FileRule
from railgauge.topo.findings import Finding

RULES: tuple[FileRule[Sequence[Passage]], ...] = (traffic_elsewhere.RULE, traffic_errors.RULE)


def findings(passages: Sequence[Passage]) -> list[Finding]:
    """What the counters of all hosts show."""
    return [finding for rule in RULES for finding in rule.find(passages, "counters")]
