# SPDX-License-Identifier: Apache-2.0
"""Findings that are the same for several channels of a graph, merged into one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from railgauge.topo.findings.finding import Finding
from railgauge.topo.values.spans import spans


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, merged if only the channel differs, on the line of the first.

    A finding about a channel holds its number as evidence, `channel`; the merged one holds all, `channels`.
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
