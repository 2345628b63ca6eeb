# SPDX-License-Identifier: Apache-2.0
"""Whether the bytes that a run planned over a link were counted there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.topo.findings.cards.traffic import TRAFFIC_ELSEWHERE
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.traffic.account import size_text
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic

VERB = {"sent": "send", "received": "receive"}


def _check(traffic: Sequence[LinkTraffic]) -> Iterator[Finding]:
    return (_finding(one) for one in traffic if one.planned_bytes)


def _finding(one: LinkTraffic) -> Finding:
    found = RULE.finding(
        one.level,
        one.link,
        _message(one),
        fix=one.level is Level.FAIL,
        way=one.way,
        planned_bytes=one.planned_bytes,
        seen_bytes=one.seen_bytes,
        elsewhere_bytes=dict(one.elsewhere_bytes),
    )
    return replace(found, host=one.host)


def _message(one: LinkTraffic) -> str:
    """The message of UNKNOWN has neither host nor size, so that it is reported once for all hosts."""
    if one.level is Level.UNKNOWN:
        return f"{one.link}: {one.why}"
    link, planned = f"{one.link} of {one.host}", size_text(one.planned_bytes)
    if one.level is Level.FAIL:
        return f"{link} should {VERB[one.way]} {planned}: {one.why}"
    return f"{link} {one.way} {one.ratio:.2f} x the {planned} of the plan{', ' * bool(one.why)}{one.why}"


RULE: FileRule[Sequence[LinkTraffic]] = FileRule(card=TRAFFIC_ELSEWHERE, check=_check)
