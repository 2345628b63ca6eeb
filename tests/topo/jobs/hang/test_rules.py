# SPDX-License-Identifier: Apache-2.0
"""Each finding of `log hang` is documented, explained, and of the levels that it says."""

from pathlib import Path

import pytest
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.reading import dump, entry, scene_of, up_to, write_dumps

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.rules.rules import RULES
from railgauge.topo.jobs.hang.standstill import Standstill
from railgauge.topo.render.card import card_text

DOCS = (Path(__file__).parents[4] / "docs" / "guide" / "hang.md").read_text()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_documented(rule):
    assert f"[`{rule.id}`](../reference/findings.md#{rule.id})" in DOCS
    assert rule.card.title in card_text(rule.card)
    assert Level.PASS not in rule.card.levels


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_healthy_job_has_no_finding(tmp_path, rule):
    write_dumps(tmp_path, {rank: dump(up_to(9)) for rank in range(8)})
    (tmp_path / "ras.txt").write_text(ras.text(ras.row()))
    assert not list(rule.check(Standstill(scene_of(tmp_path))))


def test_findings_are_of_the_levels_that_their_rules_say(tmp_path):
    odd = [entry(4, state="started", elements=8 if rank == 1 else 16) for rank in range(4)]
    write_dumps(tmp_path, {rank: dump([*up_to(3), odd[rank]], ranks=5) for rank in range(4)})
    missing = "#0-0 (c0ffee02) INCOMPLETE\n  Missing communicator data from 5 ranks\n\n"
    behind = ras.MISMATCH.format(where=ras.where(7))
    (tmp_path / "ras.txt").write_text(ras.text(ras.row("MISMATCH"), errors=missing, warnings=behind))
    standstill = Standstill(scene_of(tmp_path))
    found = {rule.id: {finding.level for finding in rule.check(standstill)} for rule in RULES}
    assert {name for name, levels in found.items() if levels} >= {"rank-behind", "rank-missing", "operation-mismatch"}
    assert all(levels <= set(rule.card.levels) for rule, levels in zip(RULES, found.values(), strict=True))


def test_many_ranks_are_named_in_short():
    assert named([7]) == "rank 7"
    assert named([0, 1, 2, 8]) == "ranks 0-2,8"
    assert named(range(0, 2000, 2)) == "ranks 0,2,4,6,8,10,12,14,16,18,20,22,... (1000 of them)"
