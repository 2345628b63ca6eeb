# SPDX-License-Identifier: Apache-2.0
"""What holds for all rules about machines."""

import pytest

from railgauge.topo.findings import Level
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Need
from railgauge.topo.rules.rules import RULES, check


def test_ids_are_there_once():
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_tells_all_that_explain_shows(rule):
    assert all((rule.title, rule.about, rule.passes, rule.reads, rule.sure, rule.remedy))
    assert set(rule.levels) <= {Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN}


def test_a_topology_file_leaves_what_needs_the_machine_unknown():
    machine = load_machine("@dgx-h100")
    findings = check(Case(Machine(topology=machine.topology, host="there")))
    needing = {rule.id for rule in RULES if Need.MACHINE in rule.needs}
    assert {f.id for f in findings if f.level is Level.UNKNOWN} >= needing
    assert not [f for f in findings if f.id in needing and f.level is Level.PASS]
