# SPDX-License-Identifier: Apache-2.0
"""Every rule fires on its fault, passes where it looked and there is none, and is UNKNOWN where it cannot look."""

import pytest
from tests.topo.findings.cluster import fleets
from tests.topo.findings.node.cases import levels, worst
from tests.topo.findings.node.health_rows import HEALTH_ROWS
from tests.topo.findings.node.rule_rows import ROWS

from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.findings import findings as differing
from railgauge.topo.findings.cluster.folder import Unread
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import Machine, load_machine

TABLE = ROWS | HEALTH_ROWS


def test_no_rule_is_left_out():
    assert sorted(TABLE) == sorted(rule.id for rule in RULES)


@pytest.mark.parametrize("identifier", TABLE)
def test_a_rule_fires_on_its_fault(identifier):
    assert worst(identifier, TABLE[identifier].faulty()) == TABLE[identifier].level


@pytest.mark.parametrize("identifier", TABLE)
def test_a_rule_passes_where_there_is_no_fault(identifier):
    assert levels(identifier, TABLE[identifier].healthy()) == {Level.PASS}


@pytest.mark.parametrize("identifier", TABLE)
def test_a_rule_that_cannot_look_is_unknown(identifier):
    assert levels(identifier, TABLE[identifier].blind()) == {Level.UNKNOWN}


def test_nodes_that_differ(tmp_path):
    for number, base in enumerate(("dgx-h100", "dgx-h100", "dgx-h100-nic-x8")):
        fleets.write(tmp_path, f"gpu{number}", fleets.usual(base))
    nodes, _ = fleets.read(tmp_path)
    assert {(one.id, one.level, one.host) for one in differing(compare(nodes))} == {
        ("nodes-differ", Level.WARN, "gpu2")
    }
    assert not list(differing(compare(nodes[:2])))
    [unread] = differing(compare((), [Unread(name="gpu3", reason="gone")]))
    assert (unread.id, unread.level) == ("nodes-differ", Level.UNKNOWN)


def test_ids_are_there_once():
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_topology_file_leaves_what_needs_the_machine_unknown():
    machine = load_machine("@dgx-h100")
    found = check(Machine(topology=machine.topology, host="there"))
    needing = {rule.id for rule in RULES if isinstance(rule, Rule) and Need.MACHINE in rule.needs}
    assert {f.id for f in found if f.level is Level.UNKNOWN} >= needing
    assert not [f for f in found if f.id in needing and f.level is Level.PASS]
