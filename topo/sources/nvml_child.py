# SPDX-License-Identifier: Apache-2.0
"""The child process that loads NVML: prints {"gpus": [...]} or {"error": reason}.

A reading that fails is null, with a reason.

Run as `python -m railgauge.topo.sources.nvml_child`; nvml.py reads what it prints.
"""

import json
from collections.abc import Callable
from typing import Any

CAP_P2P = 0  # NVML_NVLINK_CAP_P2P_SUPPORTED
MAX_LINKS = 18  # NVML_NVLINK_MAX_LINKS


def main() -> None:
    """Print NVML's answers as JSON."""
    print(json.dumps(collect()))


def collect() -> dict[str, Any]:
    """All GPUs that NVML lists."""
    try:
        import pynvml
    except ImportError as error:
        return {"error": f"NVML: the pynvml module is absent ({error})"}
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return {"error": f"NVML: {error}"}
    driver = _try(pynvml, pynvml.nvmlSystemGetDriverVersion)
    return {"driver": driver, "gpus": [_gpu(pynvml, index) for index in range(count)]}


def _try(pynvml: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        value = call(*arguments)
    except pynvml.NVMLError:
        return None
    return value.decode() if isinstance(value, bytes) else value


def _gpu(pynvml: Any, index: int) -> dict[str, Any]:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return {"index": index, "pci": None, "cc": None, "error": str(error)}
    pci = _try(pynvml, pynvml.nvmlDeviceGetPciInfo, handle)
    capability = _try(pynvml, pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    bus_id = getattr(pci, "busId", None)
    return {
        "index": index,
        "pci": bus_id.decode() if isinstance(bus_id, bytes) else bus_id,
        "name": _try(pynvml, pynvml.nvmlDeviceGetName, handle),
        "uuid": _try(pynvml, pynvml.nvmlDeviceGetUUID, handle),
        "cc": list(capability) if capability else None,
        "links": [_link(pynvml, handle, link) for link in range(MAX_LINKS)],
        "c2c": _c2c(pynvml, handle),
    }


def _link(pynvml: Any, handle: Any, link: int) -> dict[str, Any]:
    remote = _try(pynvml, pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
    bus_id = getattr(remote, "busId", None)
    return {
        "state": _try(pynvml, pynvml.nvmlDeviceGetNvLinkState, handle, link),
        "p2p": _try(pynvml, pynvml.nvmlDeviceGetNvLinkCapability, handle, link, CAP_P2P),
        "remote": bus_id.decode() if isinstance(bus_id, bytes) else bus_id,
    }


def _c2c(pynvml: Any, handle: Any) -> list[dict[str, Any]]:
    count = _field(pynvml, handle, getattr(pynvml, "NVML_FI_DEV_C2C_LINK_COUNT", None), 0) or 0
    status = getattr(pynvml, "NVML_FI_DEV_C2C_LINK_GET_STATUS", None)
    speed = getattr(pynvml, "NVML_FI_DEV_C2C_LINK_GET_MAX_BW", None)
    return [
        {"status": _field(pynvml, handle, status, link), "max_bw": _field(pynvml, handle, speed, link)}
        for link in range(count)
    ]


def _field(pynvml: Any, handle: Any, field: int | None, scope: int) -> int | None:
    if field is None:
        return None
    values = _try(pynvml, pynvml.nvmlDeviceGetFieldValues, handle, [(field, scope)])
    if not values or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return int(values[0].value.uiVal)


if __name__ == "__main__":
    main()
