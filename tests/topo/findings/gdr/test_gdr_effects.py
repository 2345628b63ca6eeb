# SPDX-License-Identifier: Apache-2.0
"""What a finding says is gained once its fault is fixed: a gain, and the same however few pairs were asked for."""

import re

import pytest
from tests.cli.command import in_process
from tests.topo.findings.gdr.test_gdr_everywhere import records
from tests.topo.findings.node.cases import case
from tests.topo.test_fixtures import WHOLE

from railgauge.topo.facts.sources.gdr import PEER_MEMORY
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.gdr.findings import findings
from railgauge.topo.findings.gdr.pairs import gdr_pairs
from railgauge.topo.findings.node.effect import once_fixed
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import Machine

GAIN = re.compile(r"\(([+-]\d+) %\)")
NO_GDR = {**dict.fromkeys(PEER_MEMORY)}


def losses(found: list[Finding]) -> list[str]:
    """Effects of a fix that make it slower."""
    fixed = [one.effect for one in found if one.effect.startswith("once ")]
    return [text for text in fixed if int(GAIN.search(text)[1]) < 0]


def of_machine(name: str) -> Machine:
    """A fixture without any way to GPUDirect RDMA."""
    facts = {"cuda.dma_buf": dict.fromkeys(case(name).reader.facts("cuda")["dma_buf"], 0)} if cuda_of(name) else {}
    return case(name, files=NO_GDR, facts=facts)


def cuda_of(name: str) -> bool:
    reader = case(name).reader
    return bool(reader and (reader.facts("cuda") or {}).get("dma_buf"))


def test_one_pair_gains_what_all_of_them_gain():
    machine = "@dgx-a100-no-peermem"
    effects = {one["effect"] for one in records(machine) if one["level"] == "FAIL"}
    assert len(effects) == 1
    for gpu, nic in (("GPU0", "mlx5_0"), ("GPU3", "mlx5_5"), ("GPU7", "mlx5_9")):
        (alone,) = records(machine, "--", gpu, nic)
        assert {alone["effect"]} == effects or alone["level"] == "INFO"
    assert "(+127 %)" in in_process("gdr", "check", "GPU0", "mlx5_0", "--from", machine).stdout


@pytest.mark.parametrize("name", WHOLE)
def test_a_fix_is_never_a_loss(name):
    one = of_machine(name)
    there, pairs = gdr_pairs(one)
    assert losses([*check(one), *findings(there, pairs)]) == []
    for pair in pairs[:2]:
        assert losses(list(findings(there, [pair]))) == []


def test_a_fix_that_the_search_would_lose_by_has_no_effect_to_tell():
    there, _ = gdr_pairs(of_machine("dgx-a100"))
    assert once_fixed(there, ["mlx5_0.gdr=1"]) == ""
    assert "(+" in once_fixed(there, [f"{net.name}.gdr=1" for net in there.system.nets])
