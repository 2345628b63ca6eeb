# SPDX-License-Identifier: Apache-2.0
"""A comparison of many nodes as lines: each design, what is odd beside the nodes where it is, what is not agreed on."""

import textwrap
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from railgauge.topo.findings.cluster.report import Difference, Group, Names, Report, Split, unread_by_reason
from railgauge.topo.findings.cluster.words import difference_text, split_text
from railgauge.topo.values.node_names import folded

MOST = 12  # differences that the same nodes have in common, in the text; the JSON has all
COLUMN = 24  # characters that folded names may take before what is said of them
Told = TypeVar("Told", Difference, Split)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: names or a title to be emphasised, and what is said; `after` columns the second begins."""

    head: str
    text: str
    mark: str = ""

    def wrapped(self, width: int | None) -> str:
        """The line within a width, the second part hanging below itself; None: not wrapped."""
        if width is None or len(self.head) + len(self.text) <= width:
            return self.text
        indent = " " * min(len(self.head), COLUMN + 6)
        first = " " * len(self.head)
        wrapped = textwrap.wrap(
            self.text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        )
        return "\n".join(wrapped)[len(self.head) :]


def report_lines(report: Report) -> list[Line]:
    """The whole report. Marks: group, odd, split, unread."""
    lines = [Line(f"{_nodes(sum(len(group.nodes) for group in report.groups))} read", _not_read(report))]
    for group in report.groups:
        lines += _group_lines(group)
    lines += _table([(names, [reason]) for names, reason in unread_by_reason(report.unread)], "unread")
    return lines


def _not_read(report: Report) -> str:
    return f", {len(report.unread)} not" if report.unread else ""


def _group_lines(group: Group) -> Iterator[Line]:
    yield Line(folded(group.nodes), f": {group.description}", "group")
    if len(group.nodes) > 1:
        yield Line("  ", _agreement(group))
    yield from _table(_by_nodes(group.differences), "odd")
    if group.splits:
        yield Line("  ", "no majority:")
        yield from (Line("    ", text, "split") for text in _split_texts(group.splits))


def _agreement(group: Group) -> str:
    most, count = group.equal[0], len(group.nodes)
    if len(most) == count:
        return f"all {count} are equal"
    return f"{len(most)} of {count} are equal" if len(most) > 1 else "no two are equal"


def _table(rows: Iterable[tuple[str, list[str]]], mark: str) -> Iterator[Line]:
    """Names, and beside them what is said of them; names that are too long stand above it."""
    rows = list(rows)
    column = max((len(names) for names, _ in rows if len(names) <= COLUMN), default=2)
    for names, texts in rows:
        if len(names) > column:
            yield Line(f"  {names}", "", mark)
        for number, text in enumerate(texts):
            yield Line(f"  {names if not number and len(names) <= column else '':<{column}}  ", text, mark)


def _by_nodes(differences: Iterable[Difference]) -> Iterator[tuple[str, list[str]]]:
    found: dict[Names, list[Difference]] = {}
    for one in differences:
        found.setdefault(one.nodes, []).append(one)
    for nodes, told in found.items():
        texts = [difference_text(first, more=more) for first, more in _folded(told)]
        yield folded(nodes), _cut(texts)


def _split_texts(splits: Iterable[Split]) -> list[str]:
    return _cut([split_text(first, more=more) for first, more in _folded(splits)])


def _folded(told: Iterable[Told]) -> Iterator[tuple[Told, int]]:
    """What is told of several things of a kind in the same words: once, and of how many more."""
    found: dict[Hashable, list[Told]] = {}
    for one in told:
        said = (one.value, one.majority, one.votes, one.of) if isinstance(one, Difference) else one.camps
        found.setdefault((one.subject.kind, one.what, said), []).append(one)
    return ((alike[0], len(alike) - 1) for alike in found.values())


def _cut(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST + 1 else [*texts[:MOST], f"and {len(texts) - MOST} more, which --json has"]


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
