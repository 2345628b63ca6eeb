# SPDX-License-Identifier: Apache-2.0
"""A comparison of many nodes as findings: what differs is a WARN, a node of which nothing is known is UNKNOWN.

What has a rule of its own on one machine has that rule's id: the driver's release.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cluster.report import Difference, Report, Split, Subject
from railgauge.topo.findings.cluster.words import difference_text, split_text
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import driver_mismatch

NODES_DIFFER = "nodes-differ"
REMEDY = "make the nodes alike, or run jobs on those that are"


def findings(report: Report) -> Iterator[Finding]:
    """One for each node that differs, each fact without a majority, and each node that could not be looked at."""
    for difference in report.differences:
        yield from (_odd(difference, node) for node in difference.nodes)
    yield from (_split(split) for split in report.splits)
    for node in report.unread:
        yield Finding(
            id=NODES_DIFFER,
            level=Level.UNKNOWN,
            subject=node.name,
            host=node.name,
            message=f"not read: {node.reason}",
            error=node.error,
        )


def _odd(one: Difference, node: str) -> Finding:
    evidence = {"what": one.what, "value": one.value, "majority": one.majority, "votes": one.votes, "of": one.of}
    return Finding(
        id=_id(one.subject, one.what),
        level=Level.WARN,
        subject=one.subject.id,
        host=node,
        message=difference_text(one),
        evidence=evidence,
        remedy=REMEDY,
    )


def _split(one: Split) -> Finding:
    values = {str(value): list(names) for value, names in one.camps}
    return Finding(
        id=_id(one.subject, one.what),
        level=Level.WARN,
        subject=one.subject.id,
        message=split_text(one),
        evidence={"what": one.what, "values": values},
        remedy=REMEDY,
    )


def _id(subject: Subject, what: str) -> str:
    return driver_mismatch.RULE.id if (subject.kind, what) == ("host", "driver") else NODES_DIFFER
