# SPDX-License-Identifier: Apache-2.0
"""The answer of `cluster check`: causes with their nodes, a table of nodes, lines for scontrol, and CSV."""

import csv
import io
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from railgauge.topo.findings.cluster.causes import ClusterCause, by_cause, worst_of
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.cluster.folding import Folded, of_node
from railgauge.topo.findings.cluster.report import Report, unread_by_reason
from railgauge.topo.findings.finding import Finding, Level, at_or_above
from railgauge.topo.render.findings import (
    Detail,
    cause_groups,
    cause_lines,
    follows_line,
    passed_lines,
    record,
    summary,
    unknown_lines,
)
from railgauge.topo.render.palette import LEVEL_INKS, Ink, Line, line
from railgauge.topo.render.wrapping import fitting
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.number import natural
from railgauge.topo.values.printable import inline

CLEAN = "clean"
NOT_READ = "not read"
VERDICT_INKS = {NOT_READ: Ink.UNKNOWN, **{str(level): ink for level, ink in LEVEL_INKS.items()}}
LONGEST_REASON = 200
"""Characters of a reason: slurmdbd keeps 255."""
PLAIN_NODES = re.compile(r"[A-Za-z0-9_.,\[\]-]+")
"""Node names that a shell takes as they are, in scontrol's notation."""
TABLE_HEAD = ("node", "verdict", "cause", "device", "more", "message")
CSV_HEAD = ("node", "verdict", "level", "id", "device", "message", "effect", "remedy")


@dataclass(frozen=True)
class ClusterAnswer:
    """What was found on which nodes. found: folded, the worst first. examined: the nodes that were read."""

    found: Sequence[Folded]
    report: Report
    examined: Sequence[Examined]

    @cached_property
    def causes(self) -> list[ClusterCause]:
        """The findings from INFO on, by cause."""
        return by_cause(self.found)

    @cached_property
    def faults(self) -> Mapping[str, list[Finding]]:
        """The causes of WARN and FAIL of each node that has any, the worst first."""
        return worst_of(self.causes)

    @cached_property
    def read(self) -> list[str]:
        """The nodes that were read."""
        return sorted((name for group in self.report.groups for name in group.nodes), key=natural)

    @property
    def unread(self) -> Mapping[str, str]:
        """The others, and why."""
        return {one.name: one.reason for one in self.report.unread}

    @property
    def count(self) -> int:
        """All nodes."""
        return len(self.read) + len(self.unread)

    def verdict(self, node: str) -> str:
        """A node's worst level, `clean`, or `not read`."""
        if node in self.unread:
            return NOT_READ
        return str(self.faults[node][0].level) if node in self.faults else CLEAN

    @property
    def nodes(self) -> list[str]:
        """All nodes by name."""
        return sorted({*self.read, *self.unread}, key=natural)


def cluster_check_document(answer: ClusterAnswer) -> dict[str, Any]:
    """The document but for its head: findings with their nodes folded, and each node's verdict."""
    return {
        "findings": [record(one.finding) for one in answer.found],
        "nodes": [
            {"node": node, "verdict": answer.verdict(node), "causes": [one.id for one in answer.faults.get(node, ())]}
            | ({"reason": answer.unread[node]} if node in answer.unread else {})
            for node in answer.nodes
        ],
    }


def headline(answer: ClusterAnswer) -> str:
    """How many nodes are clean, and which are not."""
    bad = [name for name in answer.faults if name not in answer.unread]
    parts = [f"{len(answer.read) - len(bad)} clean"]
    parts += [f"{len(bad)} with findings: {folded(bad)}"] if bad else []
    parts += [f"{len(answer.unread)} not read: {folded(answer.unread)}"] if answer.unread else []
    return inline(f"{answer.count} node{'' if answer.count == 1 else 's'}: {', '.join(parts)}")


def cluster_check_lines(answer: ClusterAnswer, reach: Sequence[str], detail: Detail = Detail.USUAL) -> Iterator[Line]:
    """The headline, what the nodes are, the ones that were not read, and the causes with what follows from them."""
    yield line(headline(answer), Ink.HEADING)
    if detail is not Detail.BRIEF:
        yield from map(line, (*designs(answer), *reach))
    for names, reason in unread_by_reason(answer.report.unread):
        yield ((f"{NOT_READ}: ", LEVEL_INKS[Level.UNKNOWN]), (inline(f"{names}: {reason}"), Ink.PLAIN))
    shown = [one for one in answer.found if not _is_unread(one, answer)]
    if detail is Detail.FULL:
        yield from _all_lines(shown, answer.count)
    else:
        yield from _cause_lines(answer, detail)
    if detail is not Detail.BRIEF:
        findings = [_named(one, answer.count) for one in shown]
        yield from unknown_lines(findings, detail, names_hosts=True)
        yield from passed_lines(findings, detail, names_hosts=True)
        yield line(summary([one.finding for one in answer.found]))


def table_lines(answer: ClusterAnswer, width: int | None = None) -> Iterator[Line]:
    """The headline and a line for each node: its verdict and its worst cause; columns that do not fit are left out."""
    yield line(headline(answer), Ink.HEADING)
    rows = [TABLE_HEAD, *(_row(answer, node) for node in answer.nodes)]
    head, *lines = fitting(rows, width)
    yield line(head, Ink.HEADING)
    for text, row in zip(lines, rows[1:], strict=True):
        yield line(text, VERDICT_INKS.get(row[1], Ink.PLAIN))
    if left_out := TABLE_HEAD[len(head.split()) :]:
        yield line(f"({', '.join(left_out)} left out: the terminal is too narrow)", Ink.QUIET)


def drain_lines(answer: ClusterAnswer, fail_on: Level) -> Iterator[str]:
    """`NODES REASON` for each group of nodes with the same worst cause at `fail_on` or above, each node once; both are
    one word of a shell.
    """
    groups: dict[str, list[str]] = {}
    for node, findings in answer.faults.items():
        if worst := at_or_above(findings, fail_on):
            groups.setdefault(_reason(worst), []).append(node)
    for reason, nodes in groups.items():
        names = inline(folded(nodes))
        yield f"{names if PLAIN_NODES.fullmatch(names) else shlex.quote(names)} {shlex.quote(reason)}"


def csv_text(answer: ClusterAnswer) -> str:
    """A row for each node and cause of INFO or worse, one for each clean node and each that was not read (RFC 4180)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    by_node = _by_node(answer)
    for node in answer.nodes:
        verdict = answer.verdict(node)
        rows = [
            (str(one.level), one.id, one.subject, one.message, one.effect, one.remedy) for one in by_node.get(node, ())
        ] or [("", "", "", answer.unread.get(node, ""), "", "")]
        writer.writerows([_cell(text) for text in (node, verdict, *row)] for row in rows)
    return text.getvalue()


def metric_findings(answer: ClusterAnswer) -> list[Finding]:
    """The findings of each node, with its name as their host."""
    return [of_node(one.finding, name) for one in answer.found for name in one.names or (one.finding.host or "",)]


def verdict_counts(answer: ClusterAnswer) -> Mapping[str, int]:
    """How many nodes have each verdict."""
    return Counter(answer.verdict(node) for node in answer.nodes)


def _is_unread(one: Folded, answer: ClusterAnswer) -> bool:
    return one.finding.level is Level.UNKNOWN and bool(one.names) and set(one.names) <= set(answer.unread)


def designs(answer: ClusterAnswer) -> Iterator[str]:
    """What the nodes are: a line for each design, with driver and NCCL of most, and when they were captured."""
    individuals = {one.name: one.individual for one in answer.examined}
    for group in answer.report.groups:
        known = [individuals[name] for name in group.nodes if name in individuals]
        parts = [group.description]
        for what in ("driver", "nccl"):
            releases = Counter(value for one in known if (value := getattr(one, what)))
            parts += [f"{'NCCL' if what == 'nccl' else what} {releases.most_common(1)[0][0]}"] if releases else []
        times = sorted(one.captured for one in known if one.captured)
        between = times[:1] if times[:1] == times[-1:] else [times[0], times[-1]] if times else []
        parts += [f"captured {' to '.join(between)}"] if between else []
        yield f"{folded(group.nodes)}: {'; '.join(parts)}"


def _cause_lines(answer: ClusterAnswer, detail: Detail) -> Iterator[Line]:
    told: set[tuple[str, str]] = set()
    findings = [_named(one.found, answer.count) for one in answer.causes]
    below = {id(named): one.consequences for named, one in zip(findings, answer.causes, strict=True)}
    for alike in cause_groups(findings, detail):
        yield from cause_lines(alike, told, names_hosts=True, detail=detail)
        if detail is Detail.USUAL:
            for one in alike:
                for follows in below[id(one)]:
                    yield follows_line(_named(follows, answer.count), names_hosts=True)


def _all_lines(found: Sequence[Folded], count: int) -> Iterator[Line]:
    told: set[tuple[str, str]] = set()
    for alike in cause_groups([_named(one, count) for one in found], Detail.FULL):
        yield from cause_lines(alike, told, names_hosts=True, detail=Detail.FULL)


def _named(one: Folded, count: int) -> Finding:
    """The finding with its nodes, all by name, and how many of all they are."""
    if not one.names:
        return one.finding
    of = f" (all {count} nodes)" if one.nodes == count else f" ({one.nodes} of {count} nodes)"
    return of_node(one.finding, f"{folded(one.names)}{of if one.nodes > 1 else ''}")


def _row(answer: ClusterAnswer, node: str) -> tuple[str, ...]:
    verdict = answer.verdict(node)
    if verdict == NOT_READ:
        return (inline(node), verdict, "", "", "", inline(answer.unread[node]))
    if verdict == CLEAN:
        return (inline(node), verdict, "", "", "", "")
    worst, *more = answer.faults[node]
    return tuple(map(inline, (node, verdict, worst.id, worst.subject, f"+{len(more)}" if more else "", worst.message)))


def _reason(findings: Sequence[Finding]) -> str:
    """The reason of a drain: the worst cause, and how many more there are; cut between words."""
    worst, *more = findings
    about = "" if worst.subject in worst.message else f"{worst.subject}: "
    text = " ".join(inline(f"railgauge: {worst.id}: {about}{worst.message}").split())
    end = f" (and {len(more)} more)" if more else ""
    if len(text) + len(end) > LONGEST_REASON:
        text = text[: LONGEST_REASON - len(end) - 4].rsplit(" ", 1)[0] + " ..."
    return text + end


def _by_node(answer: ClusterAnswer) -> Mapping[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for cause in answer.causes:
        for name in cause.found.concerned:
            found.setdefault(name, []).append(cause.found.finding)
    return found


def _cell(text: str) -> str:
    """A cell of CSV: on one line, and no formula of a spreadsheet."""
    shown = inline(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown
