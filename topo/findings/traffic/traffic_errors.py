# SPDX-License-Identifier: Apache-2.0
"""Errors and drops that a link counted while planned bytes passed it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.topo.findings.cards.traffic import TRAFFIC_ERRORS
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.traffic.passage import Passage


def _check(passages: Sequence[Passage]) -> Iterator[Finding]:
    return (_finding(one) for one in passages if one.planned_bytes and (one.errors or one.dropped))


def _finding(one: Passage) -> Finding:
    counts = {"errors": one.errors or 0, "dropped": one.dropped or 0}
    told = " and ".join(f"{name} by {count}" for name, count in counts.items() if count)
    message = f"{one.link} of {one.host}: what it {one.way} raised {told}"
    # Kernels count packets of protocols that nobody listens to as dropped, too.
    level = Level.WARN if one.errors else Level.INFO
    found = RULE.finding(level, one.link, message, way=one.way, errors=one.errors, dropped=one.dropped)
    return replace(found, host=one.host)


RULE: FileRule[Sequence[Passage]] = FileRule(card=TRAFFIC_ERRORS, check=_check)
