# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA pair by pair: each of NCCL's conditions says no where it should, and only there."""

from copy import deepcopy
from dataclasses import replace

from tests.topo.findings.node.cases import IB, capture, case

from railgauge.topo.facts.sources.gdr import PEER_MEMORY
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.gdr.findings import findings
from railgauge.topo.findings.gdr.pairs import gdr_pairs
from railgauge.topo.machine import Machine, as_it_is

DGX = "dgx-h100"
WITHOUT_MODULE = dict.fromkeys(PEER_MEMORY)


def told(one: Machine):
    scanned = replace(as_it_is(one), host="node")  # the attribute of a GPU is in its topology
    there, pairs = gdr_pairs(scanned)
    return {found.subject: found for found in findings(there, pairs)}


def levels(one: Machine, *, used: bool) -> set[Level]:
    return {found.level for found in told(one).values() if found.evidence["used_by_nccl"] is used}


def cuda(name: str, **changes):
    """CUDA's answers with those of all GPUs replaced, None for not asked."""
    facts = deepcopy(capture(name).facts["cuda"])
    for key, value in changes.items():
        facts[key] = dict.fromkeys(facts[key], value)
    return {"cuda": facts}


def test_each_gpu_of_a_healthy_machine_has_its_nic():
    found = told(case(DGX))
    assert levels(case(DGX), used=True) == {Level.PASS}
    assert levels(case(DGX), used=False) == {Level.PASS, Level.INFO}
    assert found["GPU0 mlx5_0"].evidence["send"] == {"used": True, "condition": None}
    assert found["GPU0 mlx5_1"].evidence["receive"] == {"used": False, "condition": "too-far"}
    assert found["GPU0 mlx5_3"].evidence["relay"]
    assert not any(one.evidence["transfer_tried"] for one in found.values())


def test_without_module_and_dma_buf_every_gpu_lacks_it():
    one = case(DGX, files=WITHOUT_MODULE, facts=cuda(DGX, dma_buf=0))
    assert levels(one, used=True) == {Level.FAIL}
    assert levels(one, used=False) == {Level.INFO}
    found = told(one)["GPU0 mlx5_0"]
    assert found.evidence["send"]["condition"] == "nic-without-gdr"
    assert "no peer-memory module" in found.message
    assert "nvidia_peermem" in found.remedy
    assert "all_reduce" in found.effect


def test_dma_buf_serves_unless_a_setting_forbids_it():
    facts = cuda(DGX, dma_buf=1) | {"verbs": with_dma_buf(DGX)}
    assert levels(case(DGX, files=WITHOUT_MODULE, facts=facts), used=True) == {Level.PASS}
    off = case(DGX, files=WITHOUT_MODULE, facts=facts, settings={"NCCL_DMABUF_ENABLE": "0"})
    assert levels(off, used=True) == {Level.FAIL}
    assert "NCCL_DMABUF_ENABLE" in told(off)["GPU0 mlx5_0"].remedy


def with_dma_buf(name: str):
    facts = deepcopy(capture(name).facts["verbs"])
    for device in facts["devices"]:
        device["dma_buf"] = 1
    return facts


def test_what_nobody_could_ask_is_unknown_unless_another_condition_says_no():
    one = case(DGX, files=WITHOUT_MODULE, facts={"cuda": None, "verbs": None})
    assert levels(one, used=True) == {Level.UNKNOWN}
    assert told(one)["GPU0 mlx5_1"].level is Level.INFO
    without_gpus = case(DGX, facts=cuda(DGX, gpu_direct_rdma=None))
    assert levels(without_gpus, used=True) == {Level.UNKNOWN}
    assert "CUDA" in told(without_gpus)["GPU0 mlx5_0"].message


def test_the_gpus_attribute():
    one = case(DGX, facts=cuda(DGX, gpu_direct_rdma=0))
    assert levels(one, used=True) == {Level.FAIL}
    assert told(one)["GPU0 mlx5_0"].evidence["send"]["condition"] == "gpu-without-gdr"


def test_settings_of_nccl_that_turn_it_off():
    reads = told(case(DGX, settings={"NCCL_NET_GDR_READ": "0"}))["GPU0 mlx5_0"]
    assert (reads.level, reads.evidence["send"]["condition"]) == (Level.WARN, "read-disabled")
    assert reads.evidence["receive"]["used"]
    far = told(case(DGX, settings={"NCCL_NET_GDR_LEVEL": "LOC"}))["GPU0 mlx5_0"]
    assert (far.level, far.evidence["level"]) == (Level.WARN, "LOC")
    assert "NCCL_NET_GDR_LEVEL unset" in far.remedy


def test_rdma_devices_that_nccl_does_not_use_are_no_way():
    [off] = told(case(DGX, settings={"NCCL_IB_DISABLE": "1"})).values()
    assert off.level is Level.WARN
    assert "NCCL_IB_DISABLE=1" in off.message
    [down] = told(case(DGX, files={f"{IB}/mlx5_{n}/ports/1/state": "1: DOWN" for n in range(12)})).values()
    assert down.level is Level.FAIL


def test_machines_without_gpus_or_rdma_are_no_fault():
    for name in ("laptop", "amd-2s-nps4", "consumer-2x5090"):
        assert [found.level for found in told(case(name)).values()] == [Level.INFO]


def test_a_nearer_nic_that_is_down_is_named():
    one = case("pcie-switch", files={f"{IB}/mlx5_0/ports/1/state": "1: DOWN"})
    found = told(one)["GPU0 mlx5_1"]
    assert (found.level, found.evidence["nearer_idle"]) == (Level.WARN, ["mlx5_0"])
    assert levels(case("pcie-switch"), used=True) == {Level.PASS}


def test_a_machine_that_is_built_so_goes_without_and_a_level_lets_it():
    assert levels(case("pcie-no-switch"), used=True) == {Level.INFO}
    allowed = case("pcie-no-switch", settings={"NCCL_NET_GDR_LEVEL": "SYS"})
    assert levels(allowed, used=True) == {Level.PASS}
