# SPDX-License-Identifier: Apache-2.0
"""The child process that loads NVML: prints {"gpus": [...]} or {"error": reason}.

A reading that fails is null, with a reason.

Run as `python -m railgauge.topo.facts.sources.nvml_child`; nvml.py reads what it prints.
"""

import ctypes
import json
from collections.abc import Callable
from typing import Any

from railgauge.topo.facts.sources.child import doing

CAP_P2P = 0  # NVML_NVLINK_CAP_P2P_SUPPORTED
P2P_READ, P2P_WRITE = 0, 1  # nvmlGpuP2PCapsIndex_t; pynvml's own constant of the first is a tuple by mistake
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
        doing("nvmlInit")
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return {"error": f"NVML: {error}"}
    handles = [_try(pynvml, pynvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    return {
        "driver": _try(pynvml, pynvml.nvmlSystemGetDriverVersion),
        "cuda": _try(pynvml, pynvml.nvmlSystemGetCudaDriverVersion_v2),
        "gpus": [_gpu(pynvml, index, handles) for index in range(count)],
    }


def _try(pynvml: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    doing(getattr(call, "__name__", "NVML"))
    try:
        value = call(*arguments)
    except (pynvml.NVMLError, ctypes.ArgumentError):
        return None
    return value.decode() if isinstance(value, bytes) else value


def _gpu(pynvml: Any, index: int, handles: list[Any]) -> dict[str, Any]:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return {"index": index, "pci": None, "cc": None, "error": str(error)}
    mig = _try(pynvml, pynvml.nvmlDeviceGetMigMode, handle)
    bar1 = _try(pynvml, pynvml.nvmlDeviceGetBAR1MemoryInfo, handle)
    pci = _try(pynvml, pynvml.nvmlDeviceGetPciInfo, handle)
    capability = _try(pynvml, pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    bus_id = getattr(pci, "busId", None)
    return {
        "index": index,
        "pci": bus_id.decode() if isinstance(bus_id, bytes) else bus_id,
        "name": _try(pynvml, pynvml.nvmlDeviceGetName, handle),
        "uuid": _try(pynvml, pynvml.nvmlDeviceGetUUID, handle),
        "vbios": _try(pynvml, pynvml.nvmlDeviceGetVbiosVersion, handle),
        "cc": list(capability) if capability else None,
        "links": [_link(pynvml, handle, link) for link in range(MAX_LINKS)],
        "c2c": _c2c(pynvml, handle),
        "numa": _try(pynvml, pynvml.nvmlDeviceGetNumaNodeId, handle),
        "mig": mig[0] if mig else None,
        "bar1_bytes": int(bar1.bar1Total) if bar1 else None,
        "fabric": _fabric(pynvml, handle),
        "p2p": [
            None if other is None or i == index else _p2p(pynvml, handle, other) for i, other in enumerate(handles)
        ],
    }


def _link(pynvml: Any, handle: Any, link: int) -> dict[str, Any]:
    remote = _try(pynvml, pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
    bus_id = getattr(remote, "busId", None)
    return {
        "state": _try(pynvml, pynvml.nvmlDeviceGetNvLinkState, handle, link),
        "p2p": _try(pynvml, pynvml.nvmlDeviceGetNvLinkCapability, handle, link, CAP_P2P),
        "remote": bus_id.decode() if isinstance(bus_id, bytes) else bus_id,
        "version": _try(pynvml, pynvml.nvmlDeviceGetNvLinkVersion, handle, link),
        "type": _try(pynvml, pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link),
    }


def _p2p(pynvml: Any, handle: Any, other: Any) -> list[int | None]:
    """Statuses of reading and of writing the other GPU's memory (nvmlGpuP2PStatus_t; 0 is OK)."""
    return [_try(pynvml, pynvml.nvmlDeviceGetP2PStatus, handle, other, kind) for kind in (P2P_READ, P2P_WRITE)]


def _fabric(pynvml: Any, handle: Any) -> dict[str, Any] | None:
    """The NVLink fabric that a GPU is registered with; None where there is none to ask about."""
    info = pynvml.c_nvmlGpuFabricInfo_v2_t()
    if _try(pynvml, pynvml.nvmlDeviceGetGpuFabricInfoV, handle, ctypes.byref(info)) is None:
        return None
    return {
        "state": int(info.state),
        "status": int(info.status),
        "clique": int(info.cliqueId),
        "cluster": bytes(info.clusterUuid).hex(),
        "health": int(info.healthMask),
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
