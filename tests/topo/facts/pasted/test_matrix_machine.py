# SPDX-License-Identifier: Apache-2.0
"""A machine made of a matrix has that matrix: what we print of a fixture, pasted, prints the same again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.test_fixtures import WHOLE, view

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.pasted import smi_matrix
from railgauge.topo.facts.pasted.placement import place
from railgauge.topo.facts.pasted.read import read
from railgauge.topo.machine import load_machine, recorded
from railgauge.topo.render.matrix import matrix
from railgauge.topo.render.smi_difference import differences

LETTERS = ("PIX", "PXB", "PHB", "NODE", "SYS")


def differing(text):
    machine = recorded(CaptureReader(read([("smi.txt", text.encode())])))
    return differences(smi_matrix.loads(text), matrix(machine.system, machine.topology, machine.facts))


@pytest.mark.parametrize("name", WHOLE)
def test_the_matrix_of_a_machine_made_of_a_matrix_is_the_same(name):
    there = load_machine(f"@{name}")
    if not there.topology.gpus or there.topology.gpus[0].get("sm") is None:
        pytest.skip("no matrix without GPUs")
    text = view(name, "matrix")
    if "C2C" in text:
        pytest.skip("a matrix does not say how fast chip-to-chip links are")
    assert [one for one in differing(text) if one.theirs in LETTERS and one.ours in LETTERS] == []


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_any_tree_of_letters_comes_back(data):
    """Devices at random places of a tree of two NUMA nodes; the letter of two is that of the level where they part."""
    names = [f"GPU{i}" for i in range(4)] + [f"NIC{i}" for i in range(4)]
    ways = {name: tuple(data.draw(st.integers(0, 1)) for _ in range(4)) for name in names}

    def letter(one, other):
        parted = next((at for at in range(4) if ways[one][at] != ways[other][at]), 4)
        return ("SYS", "NODE", "PHB", "PXB", "PIX")[parted]

    head = "\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n"
    rows = (
        "\t".join([one, *("X" if one == other else letter(one, other) for other in names)])
        + (f"\t{ways[one][0] * 8}-{ways[one][0] * 8 + 7}\t{ways[one][0]}" if one.startswith("GPU") else "")
        for one in names
    )
    assert not differing(head + "\n".join(rows))


def test_assumed_bus_ids_keep_the_order_of_the_columns():
    text = "\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\tX\tSYS\tSYS\tPIX\nGPU1\tSYS\tX\tPIX\tSYS\n"
    found = {one.device: one for one in place(smi_matrix.loads(text), {})}
    assert found["NIC0"].way[-1] < found["NIC1"].way[-1]
    assert found["GPU0"].way[:-1] != found["GPU1"].way[:-1]
    assert not found["GPU0"].known_numa
    assert found["GPU0"].numa == found["NIC1"].numa != found["GPU1"].numa


def test_known_bus_ids_stay():
    text = "\tGPU0\tmlx5_0\nGPU0\tX\tPIX\nmlx5_0\tPIX\tX\n"
    found = {one.device: one.way[-1] for one in place(smi_matrix.loads(text), {"GPU0": "0000:1b:00.0"})}
    assert found["GPU0"] == "0000:1b:00.0"


def test_a_gpu_without_a_row_has_no_place():
    text = "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV18\tPIX\n"
    assert [one.device for one in place(smi_matrix.loads(text), {})] == ["GPU0", "NIC0"]


def test_cores_tell_numa_nodes_where_no_number_does():
    """Drivers before 2021 have no NUMA column; GPUs that NVLinks join may be beside no NIC."""
    text = (
        "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\n"
        "GPU0\tX\tNV2\tNV1\tSYS\tPIX\t0-23,48-71\n"
        "GPU1\tNV2\tX\tSYS\tNV1\tPIX\t0-23,48-71\n"
        "GPU2\tNV1\tSYS\tX\tNV2\tSYS\t24-47,72-95\n"
        "GPU3\tSYS\tNV1\tNV2\tX\tSYS\t24-47,72-95\n"
    )
    assert [one.numa for one in place(smi_matrix.loads(text), {}) if one.device.startswith("GPU")] == [0, 0, 1, 1]
    assert not differing(text)
