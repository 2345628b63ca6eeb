# SPDX-License-Identifier: Apache-2.0
"""GPU attributes that only CUDA tells (GPUDirect RDMA), asked of libcuda in a child process; NVML is not needed.

Run as `python -m railgauge.topo.sources.cuda` it is that child: prints {"gpu_direct_rdma": {bus id: 0 or 1}} or
{"error": reason}.
"""

import ctypes
import json
import os
from collections.abc import Sequence
from typing import Any

from railgauge.topo.sources.child import ask, python

TIMEOUT_S = 20.0
GPU_DIRECT_RDMA_SUPPORTED = 116  # CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED in cuda.h


def live_cuda(
    command: Sequence[str] = python("railgauge.topo.sources.cuda"), timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """The raw answers of libcuda: {"gpu_direct_rdma": {...}}, or {"error": reason}."""
    return ask(command, "CUDA", timeout_s)


def collect() -> dict[str, Any]:
    """Ask libcuda about every GPU of the host."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # answers are by bus id: all of them
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": f"CUDA: libcuda.so.1 cannot be loaded ({error})"}
    count = ctypes.c_int()
    if status := (cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))):
        return {"error": f"CUDA: cuInit failed with status {status}"}
    return {"gpu_direct_rdma": dict(_rdma(cuda, ordinal) for ordinal in range(count.value))}


def _rdma(cuda: ctypes.CDLL, ordinal: int) -> tuple[str, int | None]:
    device, value, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(32)
    cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    cuda.cuDeviceGetPCIBusId(name, len(name), device)
    status = cuda.cuDeviceGetAttribute(ctypes.byref(value), GPU_DIRECT_RDMA_SUPPORTED, device)
    return name.value.decode().lower(), None if status else value.value


if __name__ == "__main__":
    print(json.dumps(collect()))
