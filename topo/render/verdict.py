# SPDX-License-Identifier: Apache-2.0
"""The findings of a node as one verdict, in the forms that schedulers and node agents read."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railgauge.topo.findings.card import Area, in_area
from railgauge.topo.findings.finding import ORDER, Finding, Level, kept_from_answer
from railgauge.topo.values.printable import inline

FEW = 2
"""Subjects that are named of one cause."""
CUT = "..."
"""In ASCII: node agents count bytes."""
LABEL_MOST = 63
"""Characters of a label's value (Kubernetes: labels and selectors)."""
NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
SEVERITIES: Mapping[Level, str] = {
    Level.PASS: "PASS",
    Level.INFO: "INFO",
    Level.WARN: "WARNING",
    Level.FAIL: "CRITICAL",
    Level.UNKNOWN: "UNKNOWN",
}
"""The severities of NVIDIA Health Validation (its documentation, "Verdict Schema")."""


def verdict_of(findings: Sequence[Finding]) -> Level:
    """The worst level; UNKNOWN where nothing was found out, and where an error of railgauge itself kept a rule from its
    answer and none has failed. Other UNKNOWN do not count: some checks always need root.
    """
    level = _worst(findings)
    return Level.UNKNOWN if level is not Level.FAIL and kept_from_answer(findings) else level


def _worst(findings: Iterable[Finding]) -> Level:
    levels = [finding.level for finding in findings if finding.level is not Level.UNKNOWN]
    return max(levels, key=ORDER.index, default=Level.UNKNOWN)


def reason(findings: Sequence[Finding], most: int) -> str:
    """The causes on one line of at most `most` characters, worst first; what does not fit is counted.

    findings: those that count. "" without any.
    """
    causes = [_cause(name, subjects) for name, subjects in _by_id(findings).items()]
    for shown in range(len(causes), 0, -1):
        rest = len(causes) - shown
        text = "; ".join(causes[:shown]) + (f"; {rest} more" if rest else "")
        if len(text) <= most:
            return text
    return f"{causes[0][: most - len(CUT)]}{CUT}" if causes else ""


def feature_lines(findings: Sequence[Finding], healthy: str, expires_s: float | None) -> list[str]:
    """A feature file of Node Feature Discovery: NAME=VALUE lines, each of which becomes a label of the node.

    healthy: true, false or unknown. expires_s: the Unix time from which NFD drops the labels (its directive
    expiry-time); None for never.
    """
    lines = []
    if expires_s is not None:
        lines.append(f"# +expiry-time={time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(expires_s))}")
    lines.append(f"railgauge.healthy={healthy}")
    lines.append(f"railgauge.verdict={verdict_of(findings)}")
    lines += [f"railgauge.{level}.{name}={_label(subjects)}" for level, name, subjects in _loud(findings)]
    return lines


def verdict_document(findings: Sequence[Finding], host: str) -> dict[str, Any]:
    """The verdict with the names and severities of NVIDIA Health Validation; `results` has the findings that are not
    PASS.
    """
    severity = SEVERITIES[verdict_of(findings)]
    affected: dict[str, list[Finding]] = {}
    areas = {card.id: area for area in Area for card in in_area(area)}
    for one in findings:
        if one.level in (Level.WARN, Level.FAIL, Level.INFO):
            affected.setdefault(areas[one.id].name, []).append(one)
    return {
        "node": host,
        "overall_severity": severity,
        "affected_components": [
            {
                "category": category,
                "max_severity": SEVERITIES[_worst(group)],
                "check_ids": list(dict.fromkeys(one.id for one in group)),
                "entities": list(dict.fromkeys(one.subject for one in group)),
            }
            for category, group in affected.items()
        ],
        "results": [
            {
                "check_id": one.id,
                "severity": SEVERITIES[one.level],
                "entity": one.subject,
                "message": one.message,
                "remedy": one.remedy,
            }
            for one in findings
            if one.level is not Level.PASS
        ],
    }


def _by_id(findings: Iterable[Finding]) -> dict[str, list[str]]:
    """The subjects of each id, in the order of the findings."""
    causes: dict[str, list[str]] = {}
    for one in findings:
        causes.setdefault(one.id, []).append(one.subject)
    return causes


def _cause(name: str, subjects: Sequence[str]) -> str:
    named = list(dict.fromkeys(map(inline, filter(None, subjects))))
    more = f" +{len(named) - FEW}" if len(named) > FEW else ""
    return " ".join([name, ",".join(named[:FEW])]).rstrip() + more


def _loud(findings: Iterable[Finding]) -> list[tuple[str, str, list[str]]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        if one.level in (Level.WARN, Level.FAIL):
            groups.setdefault((one.level.lower(), one.id), []).append(one.subject)
    return [(level, name, subjects) for (level, name), subjects in groups.items()]


def _label(subjects: Sequence[str]) -> str:
    """Subjects as the value of a label: letters, digits, _ . and -, at most 63, a letter or digit at both ends."""
    return NOT_IN_LABEL.sub("_", "_".join(dict.fromkeys(subjects)))[:LABEL_MOST].strip("_.-") or "true"
