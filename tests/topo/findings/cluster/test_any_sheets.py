# SPDX-License-Identifier: Apache-2.0
"""Any sheets at all, in any order: one report, and what it calls odd is odd."""

from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.findings import findings
from railgauge.topo.findings.cluster.node import ClusterNode
from railgauge.topo.findings.finding import Level
from railgauge.topo.render.cluster import cluster_document, report_lines

FACTS = {
    "GPU": ("model", "NVLinks", "width", "max width"),
    "NIC": ("firmware", "width", "place"),
    "port": ("state", "physical state"),
    "interface": ("MTU", "behind it"),
    "host": ("driver", "kernel"),
    "settings": ("NCCL_A", "NCCL_B"),
}
NAMES = ((), (), ("a",), ("b",), ("a", "b"))
IDS = {"host": ("host",), "settings": ("settings",), "port": ("00 port 1", "01 port 1")}


@st.composite
def items(draw, kind):
    name = draw(st.sampled_from(IDS.get(kind, ("00", "01", "02"))))
    facts = draw(st.dictionaries(st.sampled_from(FACTS[kind]), st.sampled_from(["1", "2", "3", None])))
    label = "" if kind in ("host", "settings") else f"{kind} {name}"
    facts = {what: value or "x" for what, value in facts.items()} if kind == "settings" else facts
    return Attributes(kind=kind, id=name, label=label, facts=facts, names=draw(st.sampled_from(NAMES)))


SHEETS = st.lists(st.sampled_from(sorted(FACTS)).flatmap(items), max_size=8, unique_by=lambda item: item.id)


@settings(deadline=None)
@given(st.data(), st.lists(SHEETS, min_size=1, max_size=4))
def test_one_report_whatever_the_order_and_what_is_odd_is_odd(data, kinds):
    sheets = [tuple(sheet) for sheet in kinds]
    chosen = data.draw(st.lists(st.sampled_from(range(len(sheets))), min_size=1, max_size=8))
    nodes = [
        ClusterNode(name=f"n{number}", path="", host="", sheet=sheets[which], topology=None)
        for number, which in enumerate(chosen)
    ]
    report = compare(nodes)
    assert compare(data.draw(st.permutations(nodes))) == report
    assert sorted(name for group in report.groups for name in group.nodes) == sorted(node.name for node in nodes)
    for one in report.differences:
        assert one.value != one.majority
        assert 2 * one.votes > one.of
    told = [(frozenset(one.nodes), one.subject, one.what) for one in report.differences]
    alike = {which: {node.name for node, mine in zip(nodes, chosen, strict=True) if mine == which} for which in chosen}
    for names, *_ in told:
        assert all(names >= equal or not names & equal for equal in alike.values())
    assert list(report_lines(report))
    assert len(cluster_document(report)["differences"]) == sum(len(one.nodes) for one in report.differences)
    for found in findings(report):
        assert found.level is Level.WARN or (found.level is Level.UNKNOWN and found.evidence["value"] is None)
