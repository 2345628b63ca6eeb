# SPDX-License-Identifier: Apache-2.0
"""Errors and drops that a link counted while planned bytes passed it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.topo.findings.cards.traffic import TRAFFIC_ERRORS
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic


def _check(traffic: Sequence[LinkTraffic]) -> Iterator[Finding]:
    return (_finding(one) for one in traffic if one.planned_bytes and (one.errors or one.dropped))


def _finding(one: LinkTraffic) -> Finding:
    counts = {"errors": one.errors or 0, "dropped": one.dropped or 0}
    raised = " and ".join(f"{name} by {count}" for name, count in counts.items() if count)
    message = f"{one.link} of {one.host}: what it {one.way} raised {raised}"
    # Kernels also count packets of protocols without a listener as dropped.
    level = Level.WARN if one.errors else Level.INFO
    found = RULE.finding(level, one.link, message, way=one.way, errors=one.errors, dropped=one.dropped)
    return replace(found, host=one.host)


RULE: FileRule[Sequence[LinkTraffic]] = FileRule(card=TRAFFIC_ERRORS, check=_check)
