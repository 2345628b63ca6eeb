# SPDX-License-Identifier: Apache-2.0
"""A comparison of many nodes (railgauge/cluster/1): each design, the nodes that deviate and how, and facts
without a majority.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

from railgauge.topo.findings.cluster.report import DesignGroup, FactDifference, Names, Report, Split, unread_by_reason
from railgauge.topo.findings.cluster.words import difference_text, split_text
from railgauge.topo.render.palette import Ink, Line
from railgauge.topo.render.wrapping import wrapped
from railgauge.topo.values.node_names import folded

MOST = 12  # differences that the same nodes have in common, in the text; the JSON has all
INVENTORY = "only inventory was compared: railgauge cluster check looks for faults"
COLUMN = 24  # characters for folded names before their text
Kind = TypeVar("Kind", FactDifference, Split)
Row = tuple[str, str, Ink]
"""Names or a title in an ink, and their text."""


def report_lines(report: Report, width: int | None = None) -> Iterator[Line]:
    """The whole report, wrapped to a width; None: not wrapped. What stands behind names hangs below itself."""
    for head, text, ink in _report(report):
        hang = min(len(head), COLUMN + 6) if text and head.startswith(" ") else None
        yield from wrapped(((head, ink), (text, Ink.PLAIN)), width, hang)


def _report(report: Report) -> Iterator[Row]:
    yield f"{_nodes(sum(len(group.nodes) for group in report.groups))} read", _not_read(report), Ink.PLAIN
    for group in report.groups:
        yield from _group_lines(group)
    yield from _table([(names, [reason]) for names, reason in unread_by_reason(report.unread)], Ink.STRONG_BAD)


def _not_read(report: Report) -> str:
    return f", {len(report.unread)} not" if report.unread else ""


def _group_lines(group: DesignGroup) -> Iterator[Row]:
    yield folded(group.nodes), f": {group.description}", Ink.HEADING
    if len(group.nodes) > 1:
        yield "  ", _agreement(group), Ink.PLAIN
    yield from _table(_by_nodes(group.differences), Ink.STRONG_WARNING)
    if group.splits:
        yield "  ", "no majority:", Ink.PLAIN
        yield from (("    ", text, Ink.WARNING) for text in _split_texts(group.splits))


def _agreement(group: DesignGroup) -> str:
    most, count = group.equal[0], len(group.nodes)
    if len(most) == count:
        return f"all {count} are equal"
    return f"{len(most)} of {count} are equal" if len(most) > 1 else "no two are equal"


def _table(rows: Iterable[tuple[str, list[str]]], ink: Ink) -> Iterator[Row]:
    """Names, and next to them their text; names that are too long stand above it."""
    rows = list(rows)
    column = max((len(names) for names, _ in rows if len(names) <= COLUMN), default=2)
    for names, texts in rows:
        if len(names) > column:
            yield f"  {names}", "", ink
        for number, text in enumerate(texts):
            yield f"  {names if not number and len(names) <= column else '':<{column}}  ", text, ink


def _by_nodes(differences: Iterable[FactDifference]) -> Iterator[tuple[str, list[str]]]:
    found: dict[Names, list[FactDifference]] = {}
    for one in differences:
        found.setdefault(one.nodes, []).append(one)
    for nodes, told in found.items():
        texts = [difference_text(first, more=more) for first, more in _folded(told)]
        yield folded(nodes), _cut(texts)


def _split_texts(splits: Iterable[Split]) -> list[str]:
    return _cut([split_text(first, more=more) for first, more in _folded(splits)])


def _folded(told: Iterable[Kind]) -> Iterator[tuple[Kind, int]]:
    """Equal texts about several devices of a kind: once, with the number of further ones."""
    found: dict[Hashable, list[Kind]] = {}
    for one in told:
        said = (one.value, one.majority, one.votes, one.of) if isinstance(one, FactDifference) else one.groups
        found.setdefault((one.subject.kind, one.what, said), []).append(one)
    return ((alike[0], len(alike) - 1) for alike in found.values())


def _cut(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST + 1 else [*texts[:MOST], f"and {len(texts) - MOST} more (--json has all)"]


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


def cluster_document(report: Report) -> dict[str, Any]:
    """All fields but the head's. Differences are given for each node."""
    return {
        "nodes": [name for group in report.groups for name in group.nodes],
        "groups": [_group_record(group) for group in report.groups],
        "differences": [_difference_record(one, node) for one in report.differences for node in one.nodes],
        "splits": [_split_record(one) for one in report.splits],
        "unreachable": [{"nodes": names, "reason": reason} for names, reason in unread_by_reason(report.unread)],
        "warnings": list(report.warnings),
    }


def _group_record(group: DesignGroup) -> dict[str, Any]:
    equal = [{"nodes": folded(names), "count": len(names)} for names in group.equal]
    nodes = {"nodes": folded(group.nodes), "count": len(group.nodes)}
    return {**nodes, "description": group.description, "equal": equal}


def _difference_record(one: FactDifference, node: str) -> dict[str, Any]:
    return {
        "node": node,
        "what": one.what,
        "subject": one.subject.id,
        "value": one.value,
        "majority": one.majority,
        "votes": one.votes,
        "of": one.of,
        "message": difference_text(one),
    }


def _split_record(one: Split) -> dict[str, Any]:
    groups = [{"value": value, "nodes": folded(names), "count": len(names)} for value, names in one.groups]
    return {"what": one.what, "subject": one.subject.id, "values": groups, "message": split_text(one)}
