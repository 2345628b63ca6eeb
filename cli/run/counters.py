# SPDX-License-Identifier: Apache-2.0
"""`railgauge run --counters`: bytes planned and seen as text below the table, and what is odd about them on stderr."""

import contextlib
import sys
from collections.abc import Sequence

from railgauge.cli.output import print_lines
from railgauge.topo.errors import INTERNAL
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.traffic.passage import Passage
from railgauge.topo.findings.traffic.rules import findings
from railgauge.topo.findings.traffic.traffic_elsewhere import RULE
from railgauge.topo.render.check import check_lines
from railgauge.topo.render.traffic import passage_lines


def text(passages: Sequence[Passage]) -> str:
    """Lines that nccl-tests' readers pass over: each begins with #."""
    lines = ["Bytes of all operations, verified ones too, and what the counters of the links saw:"]
    return "\n".join([*(f"# {line}" for line in (*lines, *passage_lines(passages))), "#"])


def tell(passages: Sequence[Passage]) -> int:
    """Findings but for PASS, on stderr; the exit status of rules that failed by themselves, 0 without."""
    odd = [finding for finding in findings(passages) if finding.level is not Level.PASS]
    if odd:
        with contextlib.redirect_stdout(sys.stderr):
            print_lines(check_lines(odd))
    return INTERNAL if any(finding.error for finding in odd) else 0


def unmet(passages: Sequence[Passage]) -> list[str]:
    """Which links did not carry what was planned, in a sentence; empty where all did, or it cannot be known."""
    failed = [f"{one.host} {one.link} ({one.way})" for one in passages if one.level is Level.FAIL]
    return [f"{RULE.id}: planned bytes did not pass {', '.join(failed)}"] if failed else []
