# SPDX-License-Identifier: Apache-2.0
"""Findings that say the same of several channels of a graph, told once."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from railgauge.topo.findings.finding import Finding
from railgauge.topo.values.spans import spans


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those alike but for the channel as one, on the line of the first.

    A finding about a channel holds its number as evidence, `channel`; what comes out holds all of them, `channels`.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, one in enumerate(findings):
        about = (one.id, one.level, one.subject, one.message, one.effect, repr(_rest(one)))
        groups.setdefault(about if "channel" in one.evidence else (number,), []).append(one)
    return [_joined(group) for group in groups.values()]


def _joined(group: list[Finding]) -> Finding:
    first = group[0]
    if "channel" not in first.evidence:
        return first
    channels = sorted({one.evidence["channel"] for one in group})
    subject = f"{first.subject} {spans('channel', channels)}"
    return replace(first, subject=subject, evidence={"channels": channels, **_rest(first)})


def _rest(finding: Finding) -> dict[str, Any]:
    return {key: value for key, value in finding.evidence.items() if key != "channel"}
