# SPDX-License-Identifier: Apache-2.0
"""Memory errors that GPUs count, and ECC that is off."""

from collections.abc import Iterable, Iterator

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_MEMORY_ERRORS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import GpuReadings, has_health, once, twice, unread
from railgauge.topo.findings.node.rising import rates, rise_words, rises
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, once(machine))


def _asking(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, twice(machine))


def _judged(machine: Machine, readings: GpuReadings) -> Iterator[Finding]:
    for gpu in readings.first.gpus:
        yield from _counts(gpu)
        yield from _off(gpu, readings.first.gpus)
        later = readings.again(gpu)
        if later and (rise := rises(gpu.ecc, later.ecc)):
            level = Level.FAIL if any("uncorrected" in name for name in rise) else Level.WARN
            message = f"{gpu.name}: {rise_words(rise, readings.seconds)}"
            yield RULE.finding(level, gpu.bus_id, message, rise=rise, per_s=rates(rise, readings.seconds))
    yield from unread(RULE, machine, "ecc", lambda gpu: _known(gpu) or gpu.ecc_mode == (0, 0))


def _known(gpu: GpuHealth) -> bool:
    """Whether errors are counted of some memory at least."""
    return any(count is not None for count in gpu.ecc.values())


def _counts(gpu: GpuHealth) -> Iterator[Finding]:
    counts = {name: count for name, count in gpu.ecc.items() if count}
    now = {name: count for name, count in counts.items() if name.endswith("uncorrected_volatile")}
    if gpu.sram_threshold:
        message = f"{gpu.name}: more errors in caches (SRAM) than NVIDIA allows: have the GPU replaced"
        yield RULE.finding(Level.FAIL, gpu.bus_id, message, sram_threshold=True, counts=counts)
    if now:
        message = f"{gpu.name}: {_words(now)} since the driver started"
        yield RULE.finding(Level.FAIL, gpu.bus_id, message, counts=counts)
    elif counts:
        yield RULE.finding(Level.INFO, gpu.bus_id, f"{gpu.name}: {_words(counts)}", fix=False, counts=counts)


def _words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def _off(gpu: GpuHealth, all_gpus: Iterable[GpuHealth]) -> Iterator[Finding]:
    """ECC that is off, or will be after the next reset."""
    if gpu.ecc_mode is None or gpu.ecc_mode == (1, 1):
        return
    now, then = gpu.ecc_mode
    differs = any(one.ecc_mode is not None and one.ecc_mode[0] != now for one in all_gpus)
    states = f"ECC is {'on' if now else 'off'}" + ("" if now == then else f", {'on' if then else 'off'} after a reset")
    siblings = ", unlike on its siblings" if differs else ""
    level = Level.WARN if differs and not now else Level.INFO
    yield RULE.finding(level, gpu.bus_id, f"{gpu.name}: {states}{siblings}", ecc_mode=list(gpu.ecc_mode))


RULE = Rule(card=GPU_MEMORY_ERRORS, concerns=has_health, check=_check, asking=_asking)
