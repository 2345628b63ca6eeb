# SPDX-License-Identifier: Apache-2.0
"""The traffic counters of GPUs, asked of NVML in a child process: what their NVLinks and their PCIe links carried.

Run as `python -m railgauge.topo.facts.sources.gpu_counters` it is that child: it prints {"error": reason} or
{"gpus": [{"index", "nvlinks": [[sent KiB, received KiB], ...], "pcie": [sent bytes, received bytes]}]}, null for what
cannot be read.

nvmlDeviceGetNvLinkUtilizationCounter is gone from newer drivers, and nvmlDeviceGetPcieThroughput is a rate over 20 ms
that says nothing of the time between; these fields are counters.
"""

import json
from collections.abc import Sequence
from typing import Any

from railgauge.topo.facts.sources.child import ask, python
from railgauge.topo.facts.sources.nvml_child import MAX_LINKS
from railgauge.topo.facts.sources.nvml_fields import field_values

TIMEOUT_S = 20.0  # as NVML's other answers: a host without persistence mode takes several seconds
SENT_KIB, RECEIVED_KIB = 138, 139  # NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: payload, of a link, in KiB
PCIE_SENT, PCIE_RECEIVED = 197, 198  # NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES: 32 bits that wrap
FIELDS = [(field, link) for link in range(MAX_LINKS) for field in (SENT_KIB, RECEIVED_KIB)]


def live_gpu_counters(
    command: Sequence[str] = python("railgauge.topo.facts.sources.gpu_counters"), timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """NVML's raw counters, or {"error": reason}."""
    return ask(command, "NVML", timeout_s)


def collect() -> dict[str, Any]:
    """Those of all GPUs that NVML lists."""
    try:
        import pynvml
    except ImportError as error:
        return {"error": f"NVML: the pynvml module is absent ({error})"}
    try:
        pynvml.nvmlInit()
        return {"gpus": [_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]}
    except pynvml.NVMLError as error:
        return {"error": f"NVML: {error}"}


def _gpu(pynvml: Any, index: int) -> dict[str, Any]:
    asked = [*FIELDS, (PCIE_SENT, 0), (PCIE_RECEIVED, 0)]
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        values = field_values(pynvml, handle, asked)
    except pynvml.NVMLError:  # a sick GPU costs its own counters
        values = [None for _ in asked]
    *links, sent, received = values
    return {"index": index, "nvlinks": list(zip(links[::2], links[1::2], strict=True)), "pcie": [sent, received]}


if __name__ == "__main__":
    print(json.dumps(collect()))
