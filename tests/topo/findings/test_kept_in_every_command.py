# SPDX-License-Identifier: Apache-2.0
"""Planted faults, and machines with faults that no fixture has, in check, cluster check, gdr check and topo show."""

import pytest
from tests.topo.findings.node.cases import changed
from tests.topo.findings.node.planted import FAULTS
from tests.topo.findings.node.test_kept_machines import MACHINES

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.findings.card import in_area
from railgauge.topo.findings.cluster.examination import examine_node
from railgauge.topo.findings.gdr import way
from railgauge.topo.findings.gdr.pairs import gdr_pairs
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import recorded
from railgauge.topo.render.node_links import node_links
from railgauge.topo.render.topology import TopologyFacts, branches

PLANTED = {fault: (base, changes) for fault, (base, changes, _) in (FAULTS | MACHINES).items()}
ON_THE_WAY = {card.id for area in way.AREAS for card in in_area(area)} | set(way.OTHERS)
DRAWN = ("pcie-link-degraded", "nvlink-missing", "pcie-bridge-bogus")


def alarms(findings, host):
    """Those from WARN on; a finding about the host is about ""."""
    bad = [one for one in findings if one.level in ("WARN", "FAIL")]
    return {(one.id, str(one.level), "" if one.subject == host else one.subject) for one in bad}


def marked(tree):
    return any(one.bad or marked(one.below) for one in tree)


@pytest.mark.parametrize("fault", PLANTED)
def test_every_command_has_the_fault_at_one_level(fault):
    base, changes = PLANTED[fault]
    capture = changed(base, **changes)
    machine = recorded(CaptureReader(capture))
    expected = alarms(check(machine), machine.host)
    node = examine_node("node", "node.tar.gz", (capture, CaptureReader(capture)))
    assert alarms((*node.shared, *node.own), "") == expected
    there, pairs = gdr_pairs(machine)
    found = alarms(way.findings(machine, pairs, pairs), there.host)
    assert found == {one for one in expected if one[0] in ON_THE_WAY}
    links = node_links(machine.system, machine.topology, machine.facts)
    tree = branches(machine.system, TopologyFacts(links=links))
    assert marked(tree) is any(identifier in DRAWN for identifier, _, _ in expected)
