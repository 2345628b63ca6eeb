# SPDX-License-Identifier: Apache-2.0
"""Findings as every command shows them: lines for people and records for JSON. Pages (findings_html.py) and metrics
(findings_metrics.py) are made of the same order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railgauge.topo.findings.finding import ORDER, Finding, Level
from railgauge.topo.render.palette import LEVEL_INKS, Ink, Line, line
from railgauge.topo.values.printable import inline

if TYPE_CHECKING:
    from railgauge.topo.findings.cluster.folding import Folded

SHOWN = (*reversed(ORDER), Level.UNKNOWN)
"""The levels as a summary counts them."""
LOUD = (Level.FAIL, Level.WARN, Level.INFO)
"""What is shown finding by finding where many are folded."""
FEW = 4
"""Findings of one id that are shown where many are folded."""
NAMED = 6
"""Subjects that are named of one finding."""


def record(finding: Finding) -> dict[str, Any]:
    """A finding in a JSON document; path and line only for a file, since only with a baseline."""
    place = {"path": finding.path, "line": finding.line} if finding.path is not None else {}
    since = {"since": str(finding.since)} if finding.since is not None else {}
    return {
        "id": finding.id,
        "level": str(finding.level),
        **since,
        "host": finding.host,
        "subject": finding.subject,
        **place,
        "evidence": dict(finding.evidence),
        "message": finding.message,
        "effect": finding.effect,
        "remedy": finding.remedy,
    }


def lines_of(findings: Iterable[Finding], *, names_hosts: bool = False) -> Iterator[Line]:
    """A line a finding; what follows and how to fix it below, once where several of one id agree in it."""
    told: set[tuple[str, str]] = set()
    for one in findings:
        place = f"{one.path}:{one.line}: " if one.line else f"{one.path}: " if one.path else ""
        who = f"{one.host}: " if names_hosts else ""
        about = "" if one.subject in one.message or one.subject == one.path else f"{one.subject}: "
        yield _headed(place, one.level, f"{one.id}: {who}{about}{one.message}")
        for title, text in (("effect", one.effect), ("remedy", one.remedy)):
            if text and (one.id, text) not in told:
                yield line(f"    {title}: {inline(text)}")
            told.add((one.id, text))


def finding_lines(findings: Sequence[Finding], most: int | None = None) -> Iterator[Line]:
    """The findings in their order, no more than `most`, and a line that counts all."""
    yield from lines_of(findings[:most])
    if most is not None and len(findings) > most:
        yield line(f"... and {len(findings) - most} more (--json has all)")
    yield line(summary(findings))


def folded_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    """The findings of a whole machine: of many of one id the first, UNKNOWN by reason, PASS by name."""
    return _folded(findings, names_hosts=False)


def cluster_lines(found: "Sequence[Folded]", nodes: int) -> Iterator[Line]:
    """The findings of many nodes in the same way, each with the nodes that have it; `nodes` is how many there are."""
    return _folded([replace(one.finding, host=_who(one, nodes)) for one in found], names_hosts=True)


def by_subject(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that agree in all but their subject as one, which names the first subjects; the worst first."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        alike.setdefault((one.level, one.id, one.message, one.effect, one.remedy), []).append(one)
    joined = [replace(same[0], subject=_subjects([one.subject for one in same])) for same in alike.values()]
    return sorted(joined, key=lambda one: SHOWN.index(one.level))


def summary(findings: Sequence[Finding]) -> str:
    """How many findings there are of each level, the worst first."""
    counts = Counter(finding.level for finding in findings)
    parts = [f"{counts[level]} {level}" for level in SHOWN if counts[level]]
    return ", ".join(parts) or "no findings"


def ids_of(findings: Iterable[Finding], level: Level) -> list[str]:
    """The ids that have findings of a level."""
    return list(dict.fromkeys(one.id for one in findings if one.level is level))


def by_id(findings: Iterable[Finding]) -> dict[tuple[Level, str], list[Finding]]:
    """The findings that are shown one by one, by level and id."""
    found: dict[tuple[Level, str], list[Finding]] = {}
    for one in findings:
        if one.level in LOUD:
            found.setdefault((one.level, one.id), []).append(one)
    return found


def _folded(findings: Sequence[Finding], *, names_hosts: bool) -> Iterator[Line]:
    for (_, name), alike in by_id(findings).items():
        yield from lines_of(alike[:FEW], names_hosts=names_hosts)
        if len(alike) > FEW:
            yield line(f"    ... and {len(alike) - FEW} more of {name} (--json has all)")
    for level in (Level.UNKNOWN, Level.PASS):
        told: dict[tuple[str, str], list[str]] = {}
        for one in findings:
            if one.level is level:
                reason = f": {one.message}" if level is Level.UNKNOWN else ""
                told.setdefault((f"{one.host}: " if names_hosts else "", reason), []).append(one.id)
        for (who, reason), ids in told.items():
            yield _headed("", level, f"{who}{', '.join(dict.fromkeys(ids))}{reason}")


def _headed(place: str, level: Level, text: str) -> Line:
    return ((inline(place), Ink.PLAIN), (str(level), LEVEL_INKS[level]), (f" {inline(text)}", Ink.PLAIN))


def _subjects(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _who(one: "Folded", nodes: int) -> str:
    """The nodes of a finding, and how many of all they are."""
    if one.nodes == nodes and nodes > 1:
        return f"all {nodes} nodes"
    if one.nodes < 2:
        return one.finding.host or "nodes"
    of = f" of {nodes}" if one.nodes < nodes else ""
    return f"{one.finding.host} ({one.nodes}{of} nodes)"
