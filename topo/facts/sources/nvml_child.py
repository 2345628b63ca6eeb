# SPDX-License-Identifier: Apache-2.0
"""The child process that loads NVML: prints {"gpus": [...]} or {"error": reason}.

A reading that fails is null, with a reason.

Run as `python -m railgauge.topo.facts.sources.nvml_child`; nvml.py reads what it prints.
"""

import ctypes
import json
from typing import Any

from railgauge.topo.facts.sources.child import doing
from railgauge.topo.facts.sources.nvml_questions import NvmlQuestions

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
    system = NvmlQuestions(pynvml)
    questions = [NvmlQuestions(pynvml, f" of GPU{index}") for index in range(count)]
    handles = [nvml.ask("handle", "nvmlDeviceGetHandleByIndex", index) for index, nvml in enumerate(questions)]
    return {
        "driver": _text(system.ask("driver", "nvmlSystemGetDriverVersion")),
        "cuda": system.ask("cuda", "nvmlSystemGetCudaDriverVersion_v2"),
        "gpus": [_gpu(pynvml, nvml, index, handles) for index, nvml in enumerate(questions)],
    }


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _gpu(pynvml: Any, nvml: NvmlQuestions, index: int, handles: list[Any]) -> dict[str, Any]:
    handle = handles[index]
    if handle is None:
        return {"index": index, "pci": None, "cc": None, "error": nvml.reasons["handle"]}
    mig = nvml.ask("mig", "nvmlDeviceGetMigMode", handle)
    bar1 = nvml.ask("bar1", "nvmlDeviceGetBAR1MemoryInfo", handle)
    capability = nvml.ask("cc", "nvmlDeviceGetCudaComputeCapability", handle)
    return {
        "index": index,
        "pci": _bus_id(nvml.ask("pci", "nvmlDeviceGetPciInfo", handle)),
        "name": _text(nvml.ask("name", "nvmlDeviceGetName", handle)),
        "uuid": _text(nvml.ask("uuid", "nvmlDeviceGetUUID", handle)),
        "vbios": _text(nvml.ask("vbios", "nvmlDeviceGetVbiosVersion", handle)),
        "cc": list(capability) if capability else None,
        "links": [_link(nvml, handle, link) for link in range(MAX_LINKS)],
        "c2c": _c2c(pynvml, nvml, handle),
        "numa": nvml.ask("numa", "nvmlDeviceGetNumaNodeId", handle),
        "mig": mig[0] if mig else None,
        "bar1_bytes": int(bar1.bar1Total) if bar1 else None,
        "fabric": _fabric(pynvml, nvml, handle),
        "p2p": [None if other is None or i == index else _p2p(nvml, handle, other) for i, other in enumerate(handles)],
    }


def _bus_id(info: Any) -> Any:
    return _text(getattr(info, "busId", None))


def _link(nvml: NvmlQuestions, handle: Any, link: int) -> dict[str, Any]:
    return {
        "state": nvml.ask("link", "nvmlDeviceGetNvLinkState", handle, link),
        "p2p": nvml.ask("link", "nvmlDeviceGetNvLinkCapability", handle, link, CAP_P2P),
        "remote": _bus_id(nvml.ask("link", "nvmlDeviceGetNvLinkRemotePciInfo", handle, link)),
        "version": nvml.ask("link", "nvmlDeviceGetNvLinkVersion", handle, link),
        "type": nvml.ask("link", "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link),
    }


def _p2p(nvml: NvmlQuestions, handle: Any, other: Any) -> list[int | None]:
    """Statuses of reading and of writing the other GPU's memory (nvmlGpuP2PStatus_t; 0 is OK)."""
    return [nvml.ask("p2p", "nvmlDeviceGetP2PStatus", handle, other, kind) for kind in (P2P_READ, P2P_WRITE)]


def _fabric(pynvml: Any, nvml: NvmlQuestions, handle: Any) -> dict[str, Any] | None:
    """The NVLink fabric that a GPU is registered with; None where there is none to ask about."""
    if not hasattr(pynvml, "c_nvmlGpuFabricInfo_v2_t"):
        return None
    info = pynvml.c_nvmlGpuFabricInfo_v2_t()
    if nvml.ask("fabric", "nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(info)) is None:
        return None
    return {
        "state": int(info.state),
        "status": int(info.status),
        "clique": int(info.cliqueId),
        "cluster": bytes(info.clusterUuid).hex(),
        "health": int(info.healthMask),
    }


def _c2c(pynvml: Any, nvml: NvmlQuestions, handle: Any) -> list[dict[str, Any]]:
    count = _field(pynvml, nvml, handle, getattr(pynvml, "NVML_FI_DEV_C2C_LINK_COUNT", None), 0) or 0
    status = getattr(pynvml, "NVML_FI_DEV_C2C_LINK_GET_STATUS", None)
    speed = getattr(pynvml, "NVML_FI_DEV_C2C_LINK_GET_MAX_BW", None)
    return [
        {"status": _field(pynvml, nvml, handle, status, link), "max_bw": _field(pynvml, nvml, handle, speed, link)}
        for link in range(count)
    ]


def _field(pynvml: Any, nvml: NvmlQuestions, handle: Any, field: int | None, scope: int) -> int | None:
    if field is None:
        return None
    values = nvml.ask("field", "nvmlDeviceGetFieldValues", handle, [(field, scope)])
    if not values or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return int(values[0].value.uiVal)


if __name__ == "__main__":
    main()
