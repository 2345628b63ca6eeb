# SPDX-License-Identifier: Apache-2.0
"""The child process that asks NVML for the health of GPUs: prints a JSON object for the system, then one for each GPU,
a line each, so that a GPU that hangs costs its own readings and those after it. A reading that fails is null, and the
reason stands in `reasons` under its name.

Run as `python -m railgauge.topo.facts.sources.gpu_health_child`; gpu_health.py reads what it prints.
"""

import ctypes
import json
import time
from typing import Any

from railgauge.topo.facts.sources.child import doing
from railgauge.topo.facts.sources.nvml_child import MAX_LINKS
from railgauge.topo.facts.sources.nvml_fields import field_values
from railgauge.topo.facts.sources.nvml_questions import NvmlQuestions

VOLATILE, AGGREGATE = 0, 1  # nvmlEccCounterType_t
CORRECTED, UNCORRECTED = 0, 1  # nvmlMemoryErrorType_t
DRAM, SRAM = 2, 7  # nvmlMemoryLocation_t
ECC = {
    f"{memory}_{kind}_{span}": (number, counter, location)
    for memory, location in (("dram", DRAM), ("sram", SRAM))
    for kind, number in (("corrected", CORRECTED), ("uncorrected", UNCORRECTED))
    for span, counter in (("volatile", VOLATILE), ("aggregate", AGGREGATE))
}
SINGLE_BIT, DOUBLE_BIT = 0, 1  # nvmlPageRetirementCause_t
CLOCK_SM, CLOCK_MEMORY = 1, 2  # nvmlClockType_t
TEMPERATURE_GPU = 0  # nvmlTemperatureSensors_t
NVLINK_FIELDS = {
    "replay": 161,  # NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY: up to Hopper
    "recovery": 162,  # NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY
    "crc": 163,  # NVML_FI_DEV_NVLINK_ERROR_DL_CRC
    "malformed_packets": 206,  # NVML_FI_DEV_NVLINK_COUNT_...: from Blackwell on
    "buffer_overruns": 207,
    "receive_errors": 208,
    "remote_errors": 209,
    "general_errors": 210,
    "link_integrity_errors": 211,
    "transmit_discards": 212,
    "recovery_failed": 214,
    "recovery_events": 215,
    "effective_errors": 219,
    "effective_ber": 220,
    "symbol_errors": 221,
    "symbol_ber": 222,
}
NVLINK_COUNTERS = {"replay": 0, "recovery": 1, "crc": 2, "crc_data": 3}  # nvmlNvLinkErrorCounter_t: up to Hopper
THROTTLED = {
    "power": 74,  # NVML_FI_DEV_PERF_POLICY_POWER, ns
    "thermal": 75,
    "board_limit": 77,
    "reliability": 79,
    "sw_thermal": 269,  # NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN
    "hw_thermal": 270,
    "hw_power_brake": 271,
}
RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION


def main() -> None:
    """Print the lines; {"error": reason} alone where NVML does not start."""
    try:
        import pynvml
    except ImportError as error:
        _print({"error": f"NVML: the pynvml module is absent ({error})"})
        return
    try:
        doing("nvmlInit")
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        _print({"error": f"NVML: {error}"})
        return
    questions = NvmlQuestions(pynvml)
    state = questions.ask("confidential", "nvmlSystemGetConfComputeState")
    ready = questions.ask("ready", "nvmlSystemGetConfComputeGpusReadyState") if getattr(state, "ccFeature", 0) else None
    names = {"feature": "ccFeature", "environment": "environment", "devtools": "devToolsMode"}
    known = {name: int(getattr(state, field)) for name, field in names.items()} if state is not None else None
    _print(
        {
            "at_ms": time.monotonic_ns() // 1_000_000,
            "confidential": None if known is None else known | {"ready": ready},
            "reasons": questions.reasons,
        }
    )
    for index in range(count):
        _print(health_of(pynvml, index))


def health_of(pynvml: Any, index: int) -> dict[str, Any]:
    """The readings of one GPU."""
    asked = NvmlQuestions(pynvml, f" of GPU{index}")
    handle = asked.ask("gpu", "nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return {"index": index, "pci": None, "reasons": asked.reasons}
    pci = getattr(asked.ask("pci", "nvmlDeviceGetPciInfo", handle), "busId", None)
    mode = asked.ask("ecc_mode", "nvmlDeviceGetEccMode", handle)
    return {
        "index": index,
        "pci": pci.decode() if isinstance(pci, bytes) else pci,
        "ecc_mode": list(mode) if mode is not None else None,
        "ecc": {
            name: asked.ask("ecc", "nvmlDeviceGetMemoryErrorCounter", handle, *numbers) for name, numbers in ECC.items()
        },
        "sram_threshold": _sram_threshold(pynvml, asked, handle),
        "remapped_rows": _remapped(asked, handle),
        "remap_banks": _banks(asked, handle),
        "retired_pages": _retired(asked, handle),
        "pcie_replays": asked.ask("pcie_replays", "nvmlDeviceGetPcieReplayCounter", handle),
        "nvlinks": _nvlinks(pynvml, asked, handle),
        "clock_reasons": _clock_reasons(pynvml, asked, handle),
        "throttled_ns": _fields(pynvml, asked, handle, "throttled_ns", THROTTLED),
        "clocks_mhz": {
            "sm": asked.ask("clocks_mhz", "nvmlDeviceGetClockInfo", handle, CLOCK_SM),
            "memory": asked.ask("clocks_mhz", "nvmlDeviceGetClockInfo", handle, CLOCK_MEMORY),
            "sm_max": asked.ask("clocks_mhz", "nvmlDeviceGetMaxClockInfo", handle, CLOCK_SM),
            "memory_max": asked.ask("clocks_mhz", "nvmlDeviceGetMaxClockInfo", handle, CLOCK_MEMORY),
        },
        "power_mw": {
            "limit": asked.ask("power_mw", "nvmlDeviceGetPowerManagementLimit", handle),
            "default": asked.ask("power_mw", "nvmlDeviceGetPowerManagementDefaultLimit", handle),
            "enforced": asked.ask("power_mw", "nvmlDeviceGetEnforcedPowerLimit", handle),
            "draw": asked.ask("power_mw", "nvmlDeviceGetPowerUsage", handle),
        },
        "pstate": asked.ask("pstate", "nvmlDeviceGetPerformanceState", handle),
        "temperature_c": asked.ask("temperature_c", "nvmlDeviceGetTemperature", handle, TEMPERATURE_GPU),
        "persistence": asked.ask("persistence", "nvmlDeviceGetPersistenceMode", handle),
        "compute_mode": asked.ask("compute_mode", "nvmlDeviceGetComputeMode", handle),
        "recovery_action": _fields(pynvml, asked, handle, "recovery_action", {"action": RECOVERY_ACTION})["action"],
        "reasons": asked.reasons,
    }


def _remapped(asked: NvmlQuestions, handle: Any) -> dict[str, int] | None:
    rows = asked.ask("remapped_rows", "nvmlDeviceGetRemappedRows", handle)
    names = ("corrected", "uncorrected", "pending", "failed")
    return dict(zip(names, map(int, rows), strict=True)) if rows is not None else None


def _banks(asked: NvmlQuestions, handle: Any) -> dict[str, int] | None:
    """How many banks have which part of their spare rows left."""
    found = asked.ask("remap_banks", "nvmlDeviceGetRowRemapperHistogram", handle)
    names = ("max", "high", "partial", "low", "none")
    return {name: int(getattr(found, name)) for name in names} if found is not None else None


def _retired(asked: NvmlQuestions, handle: Any) -> dict[str, int | None]:
    pages = {"single_bit": SINGLE_BIT, "double_bit": DOUBLE_BIT}
    found = {
        name: asked.ask("retired_pages", "nvmlDeviceGetRetiredPages", handle, cause) for name, cause in pages.items()
    }
    pending = asked.ask("retired_pages", "nvmlDeviceGetRetiredPagesPendingStatus", handle)
    return {name: None if listed is None else len(listed) for name, listed in found.items()} | {"pending": pending}


def _sram_threshold(pynvml: Any, asked: NvmlQuestions, handle: Any) -> int | None:
    """Whether NVML counts so many SRAM errors that the GPU is to be replaced."""

    def exceeded() -> int:
        status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
        pynvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
        return int(status.bThresholdExceeded)

    found: int | None = asked.attempt("sram_threshold", "nvmlDeviceGetSramEccErrorStatus", exceeded)
    return found


def _clock_reasons(pynvml: Any, asked: NvmlQuestions, handle: Any) -> int | None:
    """The bits of nvmlClocksEventReasons; older releases name the call otherwise."""
    names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    call = names[0] if hasattr(pynvml, names[0]) else names[1]
    found: int | None = asked.ask("clock_reasons", call, handle)
    return found


def _nvlinks(pynvml: Any, asked: NvmlQuestions, handle: Any) -> list[dict[str, int]]:
    """The counters of each link, those that it has; an empty object for a link that has none."""
    fields = [(field, link) for link in range(MAX_LINKS) for field in NVLINK_FIELDS.values()]
    values = asked.attempt("nvlinks", "nvmlDeviceGetFieldValues", lambda: field_values(pynvml, handle, fields))
    size, links = len(NVLINK_FIELDS), list[dict[str, int]]()
    for link in range(MAX_LINKS):
        of_link = (values or [None] * len(fields))[link * size : (link + 1) * size]
        links.append({name: one for name, one in zip(NVLINK_FIELDS, of_link, strict=True) if one is not None})
        if not links[link]:
            counts = {
                name: asked.ask("nvlinks", "nvmlDeviceGetNvLinkErrorCounter", handle, link, number)
                for name, number in NVLINK_COUNTERS.items()
            }
            links[link] = {name: int(count) for name, count in counts.items() if count is not None}
    return links


def _fields(
    pynvml: Any, asked: NvmlQuestions, handle: Any, reading: str, fields: dict[str, int]
) -> dict[str, int | None]:
    """Fields of the whole GPU, by name."""
    pairs = [(field, 0) for field in fields.values()]
    values = asked.attempt(reading, "nvmlDeviceGetFieldValues", lambda: field_values(pynvml, handle, pairs))
    found = dict(zip(fields, values or [None] * len(fields), strict=True))
    if values is not None and all(value is None for value in values):
        asked.reasons.setdefault(reading, "Not Supported")
    return found


def _print(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
