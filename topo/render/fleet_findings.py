# SPDX-License-Identifier: Apache-2.0
"""Findings of many nodes as lines: each once with the nodes that have it, UNKNOWN by reason, PASS by its nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from railgauge.topo.findings.cluster.folding import Folded
from railgauge.topo.findings.finding import Level

FEW = 4  # findings of one id that are shown
QUIET = (Level.PASS, Level.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Line:
    """A level, for whoever colours it, None for a line below one; and the text behind it."""

    level: Level | None
    text: str


def finding_lines(found: Sequence[Folded], nodes: int) -> Iterator[Line]:
    """All lines; `nodes` is how many there are, with those that could not be read."""
    loud: dict[tuple[Level, str], list[Folded]] = {}
    for one in found:
        if one.finding.level not in QUIET:
            loud.setdefault((one.finding.level, one.finding.id), []).append(one)
    for (_, name), alike in loud.items():
        yield from _told(alike[:FEW], nodes)
        if len(alike) > FEW:
            yield Line(None, f"    ... and {len(alike) - FEW} more of {name} (--json has all)")
    for level in (Level.UNKNOWN, Level.PASS):
        reasons: dict[tuple[str, str], list[str]] = {}
        for one in found:
            if one.finding.level is level:
                reason = f": {one.finding.message}" if level is Level.UNKNOWN else ""
                reasons.setdefault((_who(one, nodes), reason), []).append(one.finding.id)
        for (who, reason), ids in reasons.items():
            yield Line(level, f" {who}: {', '.join(dict.fromkeys(ids))}{reason}")


def _told(found: Sequence[Folded], nodes: int) -> Iterator[Line]:
    told: set[str] = set()
    for one in found:
        finding = one.finding
        about = f"{finding.subject}: " if finding.subject and finding.subject not in finding.message else ""
        yield Line(finding.level, f" {finding.id}: {_who(one, nodes)}: {about}{finding.message}")
        for title, text in (("effect", finding.effect), ("remedy", finding.remedy)):
            if text and text not in told:
                yield Line(None, f"    {title}: {text}")
            told.add(text)


def _who(one: Folded, nodes: int) -> str:
    if one.nodes == nodes and nodes > 1:
        return f"all {nodes} nodes"
    if one.nodes < 2:
        return one.finding.host or "nodes"
    of = f" of {nodes}" if one.nodes < nodes else ""
    return f"{one.finding.host} ({one.nodes}{of} nodes)"
