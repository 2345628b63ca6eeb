# SPDX-License-Identifier: Apache-2.0
"""A comparison of many nodes as the content of a railgauge/cluster/1 document (docs/reference/json.md)."""

from typing import Any

from railgauge.topo.findings.cluster.report import Difference, Group, Report, Split, unread_by_reason
from railgauge.topo.findings.cluster.words import difference_text, split_text
from railgauge.topo.values.node_names import folded


def report_document(report: Report) -> dict[str, Any]:
    """All fields but the head's. Differences are told for each node by itself."""
    return {
        "nodes": [name for group in report.groups for name in group.nodes],
        "groups": [_group(group) for group in report.groups],
        "differences": [_difference(one, node) for one in report.differences for node in one.nodes],
        "splits": [_split(one) for one in report.splits],
        "unreachable": [{"nodes": names, "reason": reason} for names, reason in unread_by_reason(report.unread)],
        "warnings": list(report.warnings),
    }


def _group(group: Group) -> dict[str, Any]:
    equal = [{"nodes": folded(names), "count": len(names)} for names in group.equal]
    nodes = {"nodes": folded(group.nodes), "count": len(group.nodes)}
    return {**nodes, "description": group.description, "equal": equal}


def _difference(one: Difference, node: str) -> dict[str, Any]:
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


def _split(one: Split) -> dict[str, Any]:
    camps = [{"value": value, "nodes": folded(names), "count": len(names)} for value, names in one.camps]
    return {"what": one.what, "subject": one.subject.id, "values": camps, "message": split_text(one)}
