# SPDX-License-Identifier: Apache-2.0
"""A comparison of many nodes as findings: a difference is a WARN; a fact that was not captured, and a node that could
not be read, are UNKNOWN.

A fact with a rule of its own has that rule's id: the driver's release.
"""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.card import Card
from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH
from railgauge.topo.findings.cluster.report import FactDifference, Report, Split, Subject
from railgauge.topo.findings.cluster.words import difference_text, split_text
from railgauge.topo.findings.finding import Finding, Level


def findings(report: Report) -> Iterator[Finding]:
    """One for each node that differs, each fact without a majority, and each node that could not be read."""
    for difference in report.differences:
        yield from (_odd(difference, node) for node in difference.nodes)
    yield from (_split(split) for split in report.splits)
    for node in report.unread:
        unread = NODES_DIFFER.finding(Level.UNKNOWN, node.name, f"not read: {node.reason}", host=node.name, fix=False)
        yield replace(unread, error=node.error)


def _odd(one: FactDifference, node: str) -> Finding:
    evidence = {"what": one.what, "value": one.value, "majority": one.majority, "votes": one.votes, "of": one.of}
    card = _card(one.subject, one.what)
    level = Level.UNKNOWN if one.not_captured else Level.WARN
    return card.finding(level, one.subject.id, difference_text(one), host=node, evidence=evidence)


def _split(one: Split) -> Finding:
    values = {str(value): list(names) for value, names in one.groups}
    evidence = {"what": one.what, "values": values}
    return _card(one.subject, one.what).finding(Level.WARN, one.subject.id, split_text(one), evidence=evidence)


def _card(subject: Subject, what: str) -> Card:
    return DRIVER_MISMATCH if (subject.kind, what) == ("host", "driver") else NODES_DIFFER
