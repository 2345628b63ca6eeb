# SPDX-License-Identifier: Apache-2.0
"""The matrix has nvidia-smi's letters, and differences to a pasted one come with a reason that fits."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.topo.small_machines import SWITCHED, gpu, nic, nvlink, switch, topology

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.facts.pasted import smi_matrix
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.matrix import Matrix, matrix
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.smi_difference import differences


def of(*cpus: str) -> Matrix:
    described = topology(*cpus)
    return matrix(build_system(described), described)


def fixture(name: str) -> Matrix:
    machine = load_machine(name)
    return matrix(build_system(machine.topology), machine.topology, MachineFacts(machine.reader))


def cells(drawn: Matrix) -> dict[tuple[str, str], str]:
    return {(row[0], column): cell for row in drawn.rows[1:] for column, cell in zip(drawn.rows[0], row, strict=True)}


def test_unknown_nvlinks_are_told():
    capture = build(Path(fixture_path("dgx-h100")).read_bytes(), "dgx-h100")
    silent = CaptureReader(replace(capture, facts=capture.facts | {"nvml": {"error": "NVML: version mismatch"}}))
    seen = scan(silent, {}).topology
    drawn = matrix(build_system(seen), seen, MachineFacts(silent))
    assert cells(drawn)["GPU0", "GPU1"] == "NODE"
    assert drawn.unknown == "NVLinks are unknown: NVML does not answer (NVML: version mismatch)"
    assert drawn.unknown in picture(build_system(seen), seen, MachineFacts(silent)).subtitle
    assert fixture("@dgx-h100").unknown == ""


def test_the_legend_speaks_of_an_xml_only_where_one_was_read():
    assert "because NCCL's XML holds no host bridges" in of(gpu("0000:01:00.0", 0)).legend
    assert "NODE = " in fixture("@laptop").legend
    assert "XML" not in fixture("@laptop").legend


def test_letters_over_pci():
    one = switch(
        "0000:01:00.0", gpu("0000:02:00.0", 0), nic("0000:03:00.0", 0), switch("0000:04:00.0", nic("0000:05:00.0", 1))
    )
    found = cells(of(one + gpu("0000:06:00.0", 1), nic("0000:81:00.0", 2)))
    assert [found["GPU0", nic] for nic in ("NIC0", "NIC1", "NIC2")] == ["PIX", "PXB", "SYS"]
    assert (found["GPU0", "GPU1"], found["GPU1", "NIC0"], found["GPU0", "GPU0"]) == ("PHB", "PHB", "X")


def test_switches_that_nccl_flattens_keep_their_levels():
    outer = 'vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa000"'
    inner = switch("0000:02:00.0", gpu("0000:03:00.0", 0), device=outer)
    found = cells(of(switch("0000:01:00.0", inner, nic("0000:04:00.0", 0), device=outer)))
    assert found["GPU0", "NIC0"] == "PXB"


def test_nvlinks_are_counted_directly_and_through_the_switch():
    pair = [gpu("0000:01:00.0", 0, nvlink("0000:02:00.0", 4)), gpu("0000:02:00.0", 1, nvlink("0000:01:00.0", 4))]
    assert cells(of("".join(pair)))["GPU0", "GPU1"] == "NV4"
    poorer = gpu("0000:02:00.0", 1, SWITCHED.replace("18", "12"), sm=90)
    found = cells(of(gpu("0000:01:00.0", 0, SWITCHED, sm=90) + poorer))
    assert (found["GPU0", "GPU1"], found["GPU1", "GPU0"]) == ("NV12", "NV12")


def test_gpus_that_reach_each_other_by_a_third_have_their_way_over_pci():
    buses = [f"0000:0{i}:00.0" for i in range(3)]
    ends = [nvlink(buses[1]), nvlink(buses[0]) + nvlink(buses[2]), nvlink(buses[1])]
    found = cells(of("".join(gpu(bus, i, ends[i]) for i, bus in enumerate(buses))))
    assert (found["GPU0", "GPU1"], found["GPU0", "GPU2"]) == ("NV1", "PHB")


def test_host_bridges_tell_node_from_phb_and_the_legend_says_which():
    found = fixture("@dgx-h100")
    assert cells(found)["GPU0", "NIC1"] == "NODE"
    assert "NODE = " in found.legend
    unknown = of(gpu("0000:01:00.0", 0) + nic("0000:02:00.0", 0))
    assert "NODE = " not in unknown.legend
    assert "nvidia-smi's NODE too" in unknown.legend


def test_affinities_are_those_of_the_numa_node():
    found = cells(of(gpu("0000:01:00.0", 0), gpu("0000:81:00.0", 1)))
    assert [found["GPU1", what] for what in ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")] == ["0-7", "1", "N/A"]


PASTED = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"


def found_in(rows: str, *cpus: str) -> list[tuple[tuple[str, ...], str, str, str]]:
    found = differences(smi_matrix.loads(PASTED + rows), of(*cpus))
    return [(one.where, one.theirs, one.ours, one.why) for one in found]


PAIR = gpu("0000:01:00.0", 0) + gpu("0000:02:00.0", 1) + nic("0000:03:00.0", 0)
LINKED = PAIR.replace('sm="80" rank="0" gdr="1">', f'sm="80" rank="0" gdr="1">{nvlink("0000:02:00.0", 4)}', 1).replace(
    'sm="80" rank="1" gdr="1">', f'sm="80" rank="1" gdr="1">{nvlink("0000:01:00.0", 4)}', 1
)


@pytest.mark.parametrize(
    ("row", "cpus", "theirs", "ours", "why"),
    [
        ("GPU0\tX\tNODE\tPHB", (PAIR,), "NODE", "PHB", "no host bridges"),
        ("GPU0\tX\tPIX\tPHB", (PAIR,), "PIX", "PHB", "sees a PCIe switch"),
        ("GPU0\tX\tSYS\tPHB", (PAIR,), "SYS", "PHB", "different NUMA nodes"),
        ("GPU0\tX\tNV4\tPHB", (PAIR,), "NV4", "PHB", "no NVLink between them"),
        ("GPU0\tX\tSYS\tPHB", (LINKED,), "SYS", "NV4", "fabric manager"),
        ("GPU0\tX\tNV2\tPHB", (LINKED,), "NV2", "NV4", "number of NVLinks"),
        ("GPU0\tX\tSYS\tPHB\t0-7\t0\t2", (PAIR,), "SYS", "PHB", "NUMA node of its own"),
    ],
)
def test_each_difference_has_its_reason(row, cpus, theirs, ours, why):
    where, one, other, reason = found_in(row, *cpus)[0]
    assert (where, one, other) == (("GPU0-GPU1",), theirs, ours)
    assert why in reason


def test_levels_of_switches_are_a_reason_of_their_own():
    inside = switch("0000:10:00.0", PAIR)
    assert "levels of a PCIe switch" in found_in("GPU0\tX\tPXB\tPIX", inside)[0][3]


def test_the_same_difference_is_told_once_for_both_directions():
    rows = "GPU0\tX\tSYS\tPHB\nGPU1\tSYS\tX\tPHB\n"
    assert [where for where, *_ in found_in(rows, PAIR)] == [("GPU0-GPU1",)]


def test_nics_are_compared_by_device_where_a_legend_tells():
    cpu = gpu("0000:01:00.0", 0) + switch("0000:10:00.0", gpu("0000:11:00.0", 1), nic("0000:12:00.0", 7))
    theirs = PASTED + "GPU1\tPHB\tX\tPIX\n\nNIC Legend:\n\n  NIC0: mlx5_7\n"
    found = differences(smi_matrix.loads(theirs), of(cpu))
    assert [(one.where, one.theirs, one.ours) for one in found] == [(("mlx5_7",), "NIC0", "NIC7")]


def test_devices_that_only_one_of_them_has_are_told():
    found = found_in("GPU0\tX\tPHB\tPHB", gpu("0000:01:00.0", 0) + gpu("0000:02:00.0", 1) + gpu("0000:04:00.0", 2))
    assert [where for where, *_ in found] == [("NIC0",), ("GPU2",)]


def test_affinities_that_differ_are_told():
    where, theirs, ours, _ = found_in("GPU0\tX\tPHB\tPHB\t0-3\t0-1\t\tN/A", PAIR)[0]
    assert (where, theirs, ours) == (("GPU0 CPU Affinity",), "0-3", "0-7")


def test_nothing_differs_where_nothing_does():
    assert found_in("GPU0\tX\tPHB\tPHB\t0-7\t0\t\tN/A\nGPU1\tPHB\tX\tPHB\t0-7\t0\t\tN/A", PAIR) == []


def test_pairs_that_nccl_counts_otherwise_are_named():
    machine = load_machine("@dgx-h100")
    (sentence,) = matrix(machine.system, machine.topology, machine.facts).counted_otherwise
    assert sentence.startswith("NCCL has PIX for these PXB: GPU0-NIC0, GPU1-NIC3, ")
    assert "and 4 more" in sentence
    plain = load_machine("@dgx-1v")
    assert matrix(plain.system, plain.topology, plain.facts).counted_otherwise == ()
