# SPDX-License-Identifier: Apache-2.0
"""CUDA's facts about GPUs (GPUDirect RDMA, DMA-BUF, and the GPUs themselves), from libcuda in a child process.

NVML is not needed. Run as `python -m railgauge.topo.facts.sources.cuda` it is that child. It prints
{"error": reason} or
{"gpus": [{"pci", "name", "cc"}], "gpu_direct_rdma": {bus id: 0 or 1}, "dma_buf": {bus id: 0 or 1}}.
"""

import ctypes
import json
import os
from collections.abc import Sequence
from typing import Any

from railgauge.topo.facts.sources.child import ask, python

TIMEOUT_S = 20.0
CC_MAJOR, CC_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR in cuda.h
GPU_DIRECT_RDMA_SUPPORTED = 116  # CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
DMA_BUF_SUPPORTED = 124  # CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED


def live_cuda(
    command: Sequence[str] = python("railgauge.topo.facts.sources.cuda"), timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """The raw answers of libcuda: {"gpus": [...], "gpu_direct_rdma": {...}, "dma_buf": {...}}, or {"error": reason}."""
    return ask(command, "CUDA", timeout_s)


def collect() -> dict[str, Any]:
    """Ask libcuda about every GPU of the host, in PCI order, as NVML numbers them."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # answers are by bus id: all of them
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": f"CUDA: libcuda.so.1 cannot be loaded ({error})"}
    count = ctypes.c_int()
    if status := (cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))):
        return {"error": f"CUDA: cuInit failed with status {status}"}
    gpus = [_gpu(cuda, ordinal) for ordinal in range(count.value)]
    return {
        "gpus": [{key: gpu[key] for key in ("pci", "name", "cc")} for gpu in gpus],
        "gpu_direct_rdma": {gpu["pci"]: gpu["rdma"] for gpu in gpus},
        "dma_buf": {gpu["pci"]: gpu["dma_buf"] for gpu in gpus},
    }


def _gpu(cuda: ctypes.CDLL, ordinal: int) -> dict[str, Any]:
    device, bus_id, name = ctypes.c_int(), ctypes.create_string_buffer(32), ctypes.create_string_buffer(96)
    cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    cuda.cuDeviceGetPCIBusId(bus_id, len(bus_id), device)
    cuda.cuDeviceGetName(name, len(name), device)
    capability = [_attribute(cuda, device, number) for number in (CC_MAJOR, CC_MINOR)]
    return {
        "pci": bus_id.value.decode().lower(),
        "name": name.value.decode("utf-8", "replace"),
        "cc": None if None in capability else capability,
        "rdma": _attribute(cuda, device, GPU_DIRECT_RDMA_SUPPORTED),
        "dma_buf": _attribute(cuda, device, DMA_BUF_SUPPORTED),
    }


def _attribute(cuda: ctypes.CDLL, device: ctypes.c_int, number: int) -> int | None:
    value = ctypes.c_int()
    return None if cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) else value.value


if __name__ == "__main__":
    print(json.dumps(collect()))
