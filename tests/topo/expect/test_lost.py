# SPDX-License-Identifier: Apache-2.0
"""Lost GPUs, NICs and ports are found by what is left of them; a machine that is given a part has lost nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.topo.findings.node.cases import IB, PCI, capture, case, changed, findings, levels, subjects

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.findings.finding import Level
from railgauge.topo.machine import recorded

DGX, HGX, A100, MESH, VM = "dgx-h100", "hgx-h100-8nic", "dgx-a100", "a100-4gpu", "vm-flat"
NO_MODEL = {"/sys/class/dmi": None}
GPU, NIC = "gpu-lost", "nic-lost"
FAULTY = ("dgx-h100-gpu-lost",)


def bus_ids(name):
    """The GPUs of a fixture."""
    return [gpu["pci"][4:].lower() for gpu in capture(name).facts["nvml"]["gpus"]]


def listed(name, indices, *asked):
    """NVML and CUDA list these GPUs alone."""
    facts = capture(name).facts
    return {f"{one}.gpus": [facts[one]["gpus"][index] for index in indices] for one in asked or ("nvml", "cuda")}


def real(name, bus_id):
    """The path of a function in sysfs."""
    return os.path.normpath(os.path.join(PCI, capture(name).links[f"{PCI}/{bus_id}"]))


def off_pci(name, *functions):
    """PCI without these functions."""
    return {path: None for bus_id in functions for path in (f"{PCI}/{bus_id}", real(name, bus_id))}


def nic_of(name, number):
    """The bus id of an RDMA device."""
    return recorded(CaptureReader(capture(name))).facts.rdma[number].bus_id


def gone(name, *indices, files=None, **facts):
    """A fixture without these GPUs anywhere."""
    left = [index for index in range(len(bus_ids(name))) if index not in indices]
    lost = off_pci(name, *(bus_ids(name)[index] for index in indices))
    return case(name, files=lost | (files or {}), facts=listed(name, left) | facts)


def nodes(*openable):
    return {"gpu_nodes": {"nodes": {f"nvidia{index}": int(index in openable) for index in range(8)}}}


@pytest.mark.parametrize(
    ("facts", "lost"),
    [
        (listed(DGX, [0, 1, 2, 4, 5, 6, 7]), [3]),
        (listed(DGX, [0, 1, 2, 4, 5, 6, 7], "nvml"), [3]),
        (listed(DGX, [0, 1, 2, 4, 5, 6, 7], "cuda"), [3]),
        (listed(DGX, [4, 5, 6, 7]) | nodes(*range(8)), [0, 1, 2, 3]),
        ({"nvml.gpus.3": {"index": 3, "pci": None, "cc": None, "error": "GPU is lost"}}, [3]),
        ({"cuda": {"error": "CUDA: cuInit failed with status 100"}}, range(8)),
    ],
    ids=["nvml-cuda", "nvml", "cuda", "nodes-of-all", "no-handle", "no-cuda-device"],
)
def test_a_gpu_on_pci_that_the_driver_does_not_offer_is_lost(facts, lost):
    assert subjects(GPU, case(DGX, facts=facts)) == [(Level.FAIL, bus_ids(DGX)[index]) for index in lost]


def test_a_gpu_that_no_driver_runs_is_lost_beside_others():
    one = case(DGX, files={f"{real(DGX, bus_ids(DGX)[5])}/driver": None}, facts=listed(DGX, [0, 1, 2, 3, 4, 6, 7]))
    assert subjects(GPU, one) == [(Level.FAIL, bus_ids(DGX)[5])]


@pytest.mark.parametrize(
    ("facts", "files"),
    [
        (listed(DGX, [4, 5, 6, 7]) | nodes(4, 5, 6, 7), {}),
        (listed(DGX, [1, 2, 3, 4, 5, 6, 7]) | nodes(1, 2, 3, 4, 5, 6, 7), {}),
        (listed(DGX, [0, 1]), {f"/proc/driver/nvidia/gpus/{bus_ids(DGX)[n]}/information": "x" for n in (0, 1)}),
        ({"nvml.gpus.3.mig": 1, **listed(DGX, [3], "cuda")}, {}),
        ({"nvml.gpus.3": {"index": 3, "pci": None, "cc": None, "error": "Insufficient Permissions"}} | nodes(0), {}),
    ],
    ids=["cgroup", "device-nodes", "container", "mig", "permission"],
)
def test_a_gpu_that_a_process_is_not_given_is_not_lost(facts, files):
    assert levels(GPU, case(DGX, facts=facts, files=files)) == {Level.PASS}


def test_where_nobody_knows_what_the_process_is_given_it_is_unknown():
    assert levels(GPU, case(DGX, facts=listed(DGX, [4, 5, 6, 7]))) == {Level.UNKNOWN}


@pytest.mark.parametrize("name", [DGX, HGX, A100])
@pytest.mark.parametrize("index", [0, 7])
def test_a_gpu_that_is_gone_is_missed_beside_its_nic(name, index):
    [found] = findings(GPU, gone(name, index, files=NO_MODEL))
    assert found.level == Level.FAIL
    assert found.subject.startswith("GPU below 0000:")
    assert "switches with such a NIC" in found.message


def test_a_gpu_that_is_gone_is_missed_at_the_far_end_of_nvlinks():
    [found] = findings(GPU, gone(MESH, 3))
    assert (found.level, found.subject) == (Level.FAIL, bus_ids(MESH)[3])
    assert "NVLinks of GPU0, GPU1, GPU2 lead to it" in found.message


def test_a_far_end_is_unknown_where_the_host_may_be_a_vm():
    """POWER's /proc/cpuinfo has no flags."""
    found = findings(GPU, gone("power9-ac922", 1))
    assert {(one.level, one.subject) for one in found} == {(Level.UNKNOWN, bus_ids("power9-ac922")[1])}


def test_a_capture_without_drivers_tells_a_gpu_that_nvml_does_not_list():
    assert subjects(GPU, case("h200x4", facts=listed("h200x4", [0, 2, 3], "nvml"))) == [(Level.FAIL, "0000:00:07.0")]


def test_a_gpu_that_is_gone_is_missed_by_the_links_that_are_down():
    told = json.loads(json.dumps(listed(MESH, [0, 1, 2])))
    for gpu in told["nvml.gpus"]:
        for link in gpu["links"]:
            if link["remote"][4:].lower() == bus_ids(MESH)[3]:
                link.update(state=0, remote=None, type=None)
    [found] = findings(GPU, case(MESH, files=off_pci(MESH, bus_ids(MESH)[3]), facts=told))
    assert (found.level, found.subject) == (Level.FAIL, "missing GPU")
    assert "4 NVLinks to each other and 4 that are down" in found.message


def test_a_gpu_that_is_gone_with_its_nic_is_missed_by_the_model():
    rail = nic_of(DGX, 0)
    lost = off_pci(DGX, rail) | {f"{IB}/mlx5_0": None}
    [found] = findings(GPU, gone(DGX, 0, files=lost))
    assert (found.level, found.subject) == (Level.FAIL, "missing GPU")
    assert "NVIDIA DGX H100 has 8 GPUs" in found.message


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_vm_that_is_given_a_part_of_a_host_has_lost_nothing(count):
    part = gone(VM, *range(count, 8))
    assert levels(GPU, part) == {Level.PASS}
    assert levels("expectation-unmet", part) == set()


@pytest.mark.parametrize(
    "files",
    [
        {f"{IB}/mlx5_3": None},
        {f"{IB}/mlx5_3": None} | off_pci(DGX, nic_of(DGX, 3)),
        {f"{IB}/mlx5_8": None} | off_pci(DGX, nic_of(DGX, 8)),
        {f"{IB}/mlx5_{number}/ports/2/state": "4: ACTIVE" for number in (1, 2, 7)},
        {f"{IB}/mlx5_3/device": None},
    ],
    ids=["no-rdma-device", "gone", "function-gone", "more-ports", "no-pci-function"],
)
def test_a_nic_that_is_lost(files):
    found = findings(NIC, case(DGX, files=files))
    assert {one.level for one in found} == {Level.FAIL}


def test_one_nic_of_two_without_an_rdma_device_is_unknown():
    """Lost, or RDMA is turned off for it."""
    assert subjects(NIC, case(MESH, files={f"{IB}/mlx5_0": None})) == [(Level.UNKNOWN, nic_of(MESH, 0))]


def test_rdma_devices_of_other_namespaces_are_unknown():
    files = {f"{IB}/mlx5_3": None, "/sys/module/ib_core/parameters/netns_mode": "N"}
    assert levels(NIC, case(DGX, files=files)) == {Level.UNKNOWN}


def test_two_ports_in_a_bond_are_one_device():
    one = changed(DGX, files={f"{IB}/mlx5_8": None})

    def named(text):
        return text.replace("mlx5_7", "mlx5_bond_0")

    texts = {named(path): text for path, text in one.texts.items()}
    links = {named(path): named(target) for path, target in one.links.items()}
    bonded = recorded(CaptureReader(replace(one, texts=texts, links=links)))
    assert "mlx5_bond_0" in {device.name for device in bonded.facts.rdma}
    assert levels(NIC, bonded) == {Level.PASS}


FIXTURES = sorted(path.parent.name for path in (Path(__file__).parents[3] / "fixtures").glob("*/machine.toml"))


@pytest.mark.parametrize("name", [name for name in FIXTURES if name not in FAULTY])
def test_no_fixture_without_a_planted_fault_has_lost_anything(name):
    found = [*findings(GPU, case(name)), *findings(NIC, case(name))]
    assert {one.level for one in found} <= {Level.PASS, Level.UNKNOWN}
    assert not [one for one in found if one.error]


def test_the_fixture_of_a_lost_gpu():
    assert subjects(GPU, case("dgx-h100-gpu-lost")) == [(Level.FAIL, "0000:61:00.0")]
