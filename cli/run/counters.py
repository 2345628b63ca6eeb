# SPDX-License-Identifier: Apache-2.0
"""`railgauge run --counters`: planned and counted bytes per link below the table, findings on stderr."""

import contextlib
import sys
from collections.abc import Sequence

from railgauge.cli.findings_output import print_findings
from railgauge.topo.errors import INTERNAL
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.topo.findings.traffic.rules import findings
from railgauge.topo.findings.traffic.traffic_elsewhere import RULE
from railgauge.topo.render.traffic import traffic_lines


def text(traffic: Sequence[LinkTraffic]) -> str:
    """The bytes as comment lines (#), which parsers of nccl-tests' output skip."""
    lines = ["Bytes of all operations (verified ones included): planned, and counted by the links:"]
    return "\n".join([*(f"# {line}" for line in (*lines, *traffic_lines(traffic))), "#"])


def tell(traffic: Sequence[LinkTraffic]) -> int:
    """Print findings (without PASS) on stderr; return the exit status of a crashed rule, else 0."""
    found = [finding for finding in findings(traffic) if finding.level is not Level.PASS]
    if found:
        with contextlib.redirect_stdout(sys.stderr):
            print_findings(found)
    return INTERNAL if any(finding.error for finding in found) else 0


def unmet(traffic: Sequence[LinkTraffic]) -> list[str]:
    """The links that did not carry the planned bytes, in one sentence; empty if all did or counters are missing."""
    failed = [f"{one.host} {one.link} ({one.way})" for one in traffic if one.level is Level.FAIL]
    return [f"{RULE.id}: planned bytes were not counted on {', '.join(failed)}"] if failed else []
