# SPDX-License-Identifier: Apache-2.0
"""The health of GPUs as NVML reports it: memory errors, spare rows, link errors, clocks, power.

It is asked in a child process (gpu_health_child.py). Errors since the last reset of a counter show the past:
only a second reading shows what happens now.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources.child import ask_lines, python
from railgauge.topo.values.busid import from_nvml

TIMEOUT_S = 20.0  # as NVML's other answers: a host without persistence mode takes several seconds
BETWEEN_S = 1.0
"""Seconds from the first reading to the second, at least."""
LATER = "gpu_health_later"  # the second reading, as a fact
Readings = Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHealth:
    """The readings of one GPU; those that NVML does not give are None or left out, with the reason by name.

    ecc_mode: (current, after the next reset), 1 is on. ecc: counts as dram_corrected_volatile; volatile ones begin at 0
    with each start of the driver, aggregate ones are of the GPU's life. remapped_rows: corrected and uncorrected by
    cause, pending, failed. remap_banks: how many banks have max, high, partial, low, none of their spare rows left.
    retired_pages: single_bit, double_bit, pending. nvlinks: counters by link. clock_reasons: nvmlClocksEventReasons.
    throttled_ns: time at a lower clock, by cause. recovery_action: nvmlDeviceGpuRecoveryAction_t, 0 is none.
    """

    index: int
    bus_id: str
    ecc_mode: tuple[int, int] | None = None
    ecc: Readings = field(default_factory=dict)
    sram_threshold: bool | None = None
    remapped_rows: Readings | None = None
    remap_banks: Readings | None = None
    retired_pages: Readings = field(default_factory=dict)
    pcie_replays: int | None = None
    nvlinks: tuple[Mapping[str, int], ...] = ()
    clock_reasons: int | None = None
    throttled_ns: Readings = field(default_factory=dict)
    clocks_mhz: Readings = field(default_factory=dict)
    power_mw: Readings = field(default_factory=dict)
    pstate: int | None = None
    temperature_c: int | None = None
    persistence: bool | None = None
    compute_mode: int | None = None
    recovery_action: int | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"GPU{self.index} ({self.bus_id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHealthReading:
    """All GPUs at one time. at_ms: that time, comparable with a second reading's only. confidential: feature,
    environment, devtools, ready of confidential computing; None if unknown. error: why GPUs are missing, "" if none is.
    """

    gpus: tuple[GpuHealth, ...] = ()
    at_ms: int | None = None
    confidential: Readings | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    error: str = ""

    def but(self, bus_ids: frozenset[str]) -> "GpuHealthReading":
        """Without some GPUs."""
        return replace(self, gpus=tuple(gpu for gpu in self.gpus if gpu.bus_id not in bus_ids))


def live_gpu_health(
    reader: Reader,
    command: Sequence[str] = python("railgauge.topo.facts.sources.gpu_health_child"),
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Any]:
    """The answers of this machine; {"error": reason} beside those that came before NVML failed or hung.

    NVML that did not answer for the GPUs (nvml.py) is not asked again.
    """
    if silent := (reader.facts("nvml") or {}).get("error"):
        return {"gpus": [], "error": str(silent)}
    lines, error = ask_lines(command, "NVML", timeout_s)
    system = next((line for line in lines if "index" not in line), {})
    answer = system | {"gpus": [line for line in lines if "index" in line]}
    return answer | ({"error": error} if error else {})


def live_gpu_health_later(reader: Reader) -> dict[str, Any]:
    """The same, BETWEEN_S or more after the first answer."""
    first = reader.facts("gpu_health") or {}
    if first.get("at_ms") is not None:
        passed_s = time.monotonic() - first["at_ms"] / 1000
        time.sleep(min(max(0.0, BETWEEN_S - passed_s), BETWEEN_S))
    return live_gpu_health(reader)


def read_gpu_health(reader: Reader, fact: str = "gpu_health") -> GpuHealthReading:
    """A reading as it was taken; its error says so where it was not."""
    answer = reader.facts(fact)
    if answer is None:
        return GpuHealthReading(error="GPU health was not captured")
    return GpuHealthReading(
        gpus=tuple(_gpu(gpu) for gpu in answer.get("gpus", ()) if gpu.get("pci") is not None),
        at_ms=answer.get("at_ms"),
        confidential=answer.get("confidential"),
        reasons=answer.get("reasons", {}),
        error=answer.get("error") or _unanswered(answer.get("gpus", ())),
    )


def read_gpu_health_later(reader: Reader) -> GpuHealthReading:
    """The second reading."""
    return read_gpu_health(reader, LATER)


def _unanswered(gpus: Sequence[Facts]) -> str:
    """Why a GPU that NVML counts has no readings at all."""
    lost = [gpu for gpu in gpus if gpu.get("pci") is None]
    return "; ".join(f"GPU{gpu['index']}: {', '.join(gpu.get('reasons', {}).values()) or 'no answer'}" for gpu in lost)


def _gpu(answer: Facts) -> GpuHealth:
    mode = answer.get("ecc_mode")
    flags = {name: answer.get(name) for name in ("sram_threshold", "persistence")}
    return GpuHealth(
        index=int(answer["index"]),
        bus_id=from_nvml(str(answer["pci"])),
        ecc_mode=(mode[0], mode[1]) if mode else None,
        ecc=answer.get("ecc", {}),
        remapped_rows=answer.get("remapped_rows") or None,
        remap_banks=answer.get("remap_banks") or None,
        retired_pages=answer.get("retired_pages", {}),
        pcie_replays=answer.get("pcie_replays"),
        nvlinks=tuple(answer.get("nvlinks", ())),
        clock_reasons=answer.get("clock_reasons"),
        throttled_ns=answer.get("throttled_ns", {}),
        clocks_mhz=answer.get("clocks_mhz", {}),
        power_mw=answer.get("power_mw", {}),
        pstate=answer.get("pstate"),
        temperature_c=answer.get("temperature_c"),
        compute_mode=answer.get("compute_mode"),
        recovery_action=answer.get("recovery_action"),
        reasons=answer.get("reasons", {}),
        **{name: None if value is None else bool(value) for name, value in flags.items()},
    )
