# SPDX-License-Identifier: Apache-2.0
"""Nodes of different designs are parted before they are compared; a node that lacks a card stays with its own."""

import pytest
from tests.topo.findings.cluster.fleets import changed, read, usual, without, write

from railgauge.topo.findings.cluster.comparison import compare


def report(folder, **machines):
    for name, machine in machines.items():
        write(folder, name, machine)
    return compare(*read(folder))


def test_cpu_nodes_and_gpu_nodes_are_not_compared(tmp_path):
    found = report(
        tmp_path, g1=usual(), g2=usual(), g3=usual(), c1=usual("intel-2s"), c2=usual("intel-2s"), c3=usual("intel-2s")
    )
    assert sorted(group.nodes for group in found.groups) == [("c1", "c2", "c3"), ("g1", "g2", "g3")]
    assert (found.differences, found.splits, found.warnings) == ((), (), ())
    assert {group.description.split(",")[0] for group in found.groups} == {"no GPU", "8 x NVIDIA H100 80GB HBM3"}


@pytest.mark.parametrize(
    ("one", "other"), [("dgx-h100", "dgx-a100"), ("dgx-a100", "a100-4gpu"), ("dgx-h100", "gb200-tray")]
)
def test_two_kinds_of_gpu_nodes_are_not_compared(tmp_path, one, other):
    found = report(tmp_path, a1=usual(one), a2=usual(one), b1=usual(other), b2=usual(other))
    assert len(found.groups) == 2
    assert (found.differences, found.splits) == ((), ())


def test_the_only_node_of_a_design_is_said_to_be_so(tmp_path):
    found = report(tmp_path, g1=usual(), g2=usual(), login=usual("intel-2s"))
    assert found.warnings == (
        "login is the only node of its design (no GPU, 3 NICs, 2 NUMA nodes, 1U server): not compared",
    )


def test_a_node_that_lacks_half_of_its_gpus_is_an_odd_one(tmp_path):
    lacking = without(usual(), *(gpu["pci"].lower()[4:] for gpu in usual().facts["nvml"]["gpus"][:4]))
    found = report(tmp_path, g1=usual(), g2=usual(), g3=usual(), g4=lacking)
    assert len(found.groups) == 1
    missing = [one for one in found.differences if one.what == "presence" and one.subject.kind == "GPU"]
    assert len(missing) == 4
    assert {one.nodes for one in missing} == {("g4",)}


def test_a_node_whose_nics_are_all_of_another_model_is_an_odd_one(tmp_path):
    nics = [path for path, text in usual().texts.items() if path.endswith("/device") and text == "0x1021"]
    files = "\n".join(f'"{path}" = "0x101b"' for path in nics)
    found = report(tmp_path, g1=usual(), g2=usual(), g3=changed(f"[files]\n{files}"))
    assert len(found.groups) == 1
    assert [(one.nodes, one.what) for one in found.differences] == [(("g3",), "device id")] * len(nics)
