# SPDX-License-Identifier: Apache-2.0
"""Every recorded machine gives the expected topology and graphs, byte for byte."""

import re
from pathlib import Path

import pytest

from railgauge.topo import graph_xml, xml
from railgauge.topo.channels import search
from railgauge.topo.machine import load_machine
from railgauge.topo.system import build_system

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = sorted(folder.parent.name for folder in FIXTURES.glob("*/capture.tar.gz"))
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


@pytest.mark.parametrize("name", NAMES)
def test_topology_is_the_expected_one(name):
    machine = load_machine(f"@{name}")
    assert xml.dumps(machine.topology) == (FIXTURES / name / "expected" / "topo.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_the_expected_ones(name):
    system = build_system(load_machine(f"@{name}").topology)
    assert graph_xml.dumps(search(system), system) == (FIXTURES / name / "expected" / "graph.txt").read_text()


@pytest.mark.parametrize(("name", "dump"), [("h200x4", "topo.xml"), ("h200x4", "graph.xml")])
def test_nccl_wrote_the_same(name, dump):
    theirs = SAMPLES / name / dump
    if not theirs.is_file():
        pytest.skip("NCCL's own dump is not at hand")
    ours = FIXTURES / name / "expected" / dump.replace(".xml", ".txt")
    assert neutral(ours.read_text()) == neutral(theirs.read_text())


def neutral(text: str) -> str:
    return re.sub(r'(host_hash|rank)="[^"]*"', r'\1=""', text)


def test_h200x4_has_twelve_channels_at_30():
    ring = search(build_system(load_machine("@h200x4").topology)).ring
    assert (len(ring.channels), ring.gb_per_s_intra, ring.type_intra) == (12, 30.0, "NVL")
