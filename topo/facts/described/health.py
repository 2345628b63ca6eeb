# SPDX-License-Identifier: Apache-2.0
"""[health] of a described machine: GPUs without a fault as NVML would report them, and lines of its kernel log.

Single readings are then set in [facts.gpu_health] and [facts.gpu_health_later].
"""

import json
from collections.abc import Sequence
from typing import Any

from railgauge.topo.facts.described.section import Section
from railgauge.topo.facts.sources.gpu_health_child import ECC, THROTTLED
from railgauge.topo.facts.sources.kernel_events import KernelEvents

ZEROS = ("replay", "recovery", "crc")
SECOND_MS = 1000


def health_facts(top: Section, facts: dict[str, Any]) -> None:
    """[health] gpus = true: healthy readings, and a second one a second later; unsupported: those that NVML does not
    give; kernel_log: its lines; kernel_log_error: why it cannot be read.
    """
    section = top.section("health")
    unsupported = section.texts("unsupported")
    if section.flag("gpus", False):
        gpus = (facts.get("nvml") or {}).get("gpus", ())
        for name, at_ms in (("gpu_health", 0), ("gpu_health_later", SECOND_MS)):
            found = [_without(_healthy(gpu), unsupported) for gpu in gpus]
            facts[name] = {"at_ms": at_ms, "confidential": {"feature": 0}, "reasons": {}, "gpus": found}
    if "kernel_log" in section:
        lines, events = section.texts("kernel_log"), KernelEvents()
        if lines:
            events.read("\n".join(lines).encode())
        facts["kernel_log"] = {"source": "/dev/kmsg", "lines": len(lines), "events": events.facts(), "missing": ""}
    if error := section.maybe("kernel_log_error"):
        facts["kernel_log"] = {"error": error}
    section.end()


def _without(gpu: dict[str, Any], unsupported: Sequence[str]) -> dict[str, Any]:
    """The readings of a GPU without some, by name, as a call of NVML that is not supported leaves them."""
    for name in unsupported:
        kept = gpu.get(name)
        gpu[name] = {} if isinstance(kept, dict) else [] if isinstance(kept, list) else None
        gpu["reasons"][name] = "Not Supported"
    return gpu


def _healthy(gpu: dict[str, Any]) -> dict[str, Any]:
    """What NVML reports of a GPU without a fault, at work."""
    links = sum(1 for link in gpu.get("links") or () if link.get("state"))
    answer = {
        "index": gpu["index"],
        "pci": gpu["pci"],
        "ecc_mode": [1, 1],
        "ecc": dict.fromkeys(ECC, 0),
        "sram_threshold": 0,
        "remapped_rows": dict.fromkeys(("corrected", "uncorrected", "pending", "failed"), 0),
        "remap_banks": {"max": 640, "high": 0, "partial": 0, "low": 0, "none": 0},
        "retired_pages": dict.fromkeys(("single_bit", "double_bit", "pending")),
        "pcie_replays": 0,
        "nvlinks": [dict.fromkeys(ZEROS, 0)] * links,
        "clock_reasons": 0,
        "throttled_ns": dict.fromkeys(THROTTLED, 0),
        "clocks_mhz": {"sm": 1980, "memory": 2619, "sm_max": 1980, "memory_max": 2619},
        "power_mw": {"limit": 700_000, "default": 700_000, "enforced": 700_000, "draw": 300_000},
        "pstate": 0,
        "temperature_c": 45,
        "persistence": 1,
        "compute_mode": 0,
        "recovery_action": 0,
        "reasons": {"retired_pages": "Not Supported"},
    }
    made: dict[str, Any] = json.loads(json.dumps(answer))  # no two GPUs share a list
    return made
