# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a described machine: what NVML and CUDA would answer, in the shapes of docs/reference/capture.md."""

from typing import Any, NamedTuple

from railgauge.topo.facts.described.nvlinks import MAX_LINKS, connect, spelled
from railgauge.topo.facts.described.pci import PciNode, PciTree, of_kind
from railgauge.topo.facts.described.pci_model import PciModel, read_model
from railgauge.topo.facts.described.section import Section

GPU_CLASS = "0x030200"


class GpuModel(NamedTuple):
    """One [gpu.*]. c2c is (links, MB/s each); memory_numa the NUMA nodes of the GPUs' own memory, in order."""

    pci: PciModel
    name: str
    sm: int
    gdr: bool
    dma_buf: bool
    c2c: tuple[int, int]
    memory_numa: tuple[int, ...]
    p2p_status: int


def read_gpus(top: Section) -> dict[str, GpuModel]:
    """[gpu.*] by kind."""
    section = top.section("gpu")
    return {f"gpu.{name}": _model(section.section(name)) for name in section}


def _model(section: Section) -> GpuModel:
    c2c = section.section("c2c")
    model = GpuModel(
        pci=read_model(section, GPU_CLASS, "nvidia"),
        name=section.text("name"),
        sm=section.integer("sm", most=999),
        gdr=section.flag("gdr", True),
        dma_buf=section.flag("dma_buf", True),
        c2c=(c2c.integer("links", 0, MAX_LINKS), c2c.integer("mb_per_s", 0)),
        memory_numa=section.integers("memory_numa"),
        p2p_status=section.integer("p2p_status", 0),
    )
    c2c.end()
    section.end()
    return model


def gpu_facts(
    top: Section, tree: PciTree, models: dict[str, GpuModel], driver: str | None
) -> dict[str, dict[str, Any]]:
    """facts/nvml.json and facts/cuda.json; neither without GPUs."""
    gpus = of_kind(tree, "gpu.")
    answers = [_nvml(index, gpu, models[gpu.kind], len(gpus)) for index, gpu in enumerate(gpus)]
    connect(top, tree, answers)
    if not gpus:
        return {}
    cuda = [(gpu.bus_id, models[gpu.kind]) for gpu in gpus]
    return {
        "nvml": {"driver": driver, "gpus": answers},
        "cuda": {
            "gpus": [{"pci": bus_id, "name": model.name, "cc": _capability(model)} for bus_id, model in cuda],
            "gpu_direct_rdma": {bus_id: int(model.gdr) for bus_id, model in cuda},
            "dma_buf": {bus_id: int(model.dma_buf) for bus_id, model in cuda},
        },
    }


def _nvml(index: int, gpu: PciNode, model: GpuModel, count: int) -> dict[str, Any]:
    links, mb_per_s = model.c2c
    return {
        "index": index,
        "pci": spelled(gpu.bus_id),
        "name": model.name,
        "uuid": f"GPU-00000000-0000-4000-8000-{index:012x}",
        "cc": _capability(model),
        "links": [],
        "fabric": None,
        "c2c": [{"status": 1, "max_bw": mb_per_s}] * links,
        "numa": model.memory_numa[index] if index < len(model.memory_numa) else None,
        "mig": 0,
        "p2p": [None if other == index else [model.p2p_status] * 2 for other in range(count)],
    }


def _capability(model: GpuModel) -> list[int]:
    return [model.sm // 10, model.sm % 10]
