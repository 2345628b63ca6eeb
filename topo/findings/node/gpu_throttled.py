# SPDX-License-Identifier: Apache-2.0
"""GPUs at a lower clock than they could have: because of heat, power, or a limit that somebody set."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_THROTTLED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import GpuReadings, has_health, once, twice, unread
from railgauge.topo.findings.node.rising import rises
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

HARDWARE = 0x8
REASONS = {  # nvmlClocksEventReason*
    0x40: (Level.FAIL, "hardware thermal slowdown: the GPU is too hot"),
    0x80: (Level.FAIL, "hardware power brake: the power supply asks for less"),
    HARDWARE: (Level.FAIL, "hardware slowdown: heat, or power"),
    0x20: (Level.WARN, "software thermal slowdown: the GPU or its memory is hot"),
    0x4: (Level.INFO, "power cap: full load at the power limit"),
    0x2: (Level.INFO, "a clock that was set (application clocks)"),
    0x10: (Level.INFO, "sync boost: the clock of a group of GPUs"),
    0x100: (Level.INFO, "the clock of a display"),
}
COVERED = 0x40 | 0x80  # say more than HARDWARE, which is set beside them
CAUSES = {
    "hw_thermal": (Level.FAIL, "hardware thermal slowdown"),
    "hw_power_brake": (Level.FAIL, "hardware power brake"),
    "thermal": (Level.WARN, "thermal slowdown"),
    "sw_thermal": (Level.WARN, "software thermal slowdown"),
    "reliability": (Level.INFO, "the reliability limit of the voltage"),
    "board_limit": (Level.INFO, "the board's limit"),
    "power": (Level.INFO, "the power limit"),
}
LEAST_SHARE = 0.01  # of the time between two readings
PER_S = 1_000_000_000


def _check(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, once(machine))


def _asking(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, twice(machine))


def _judged(machine: Machine, readings: GpuReadings) -> Iterator[Finding]:
    for gpu in readings.first.gpus:
        yield from _now(gpu)
        if later := readings.again(gpu):
            yield from _between(gpu, later, readings.seconds)
    yield from unread(RULE, machine, "clock_reasons", lambda gpu: gpu.clock_reasons is not None)


def _now(gpu: GpuHealth) -> Iterator[Finding]:
    bits = gpu.clock_reasons or 0
    if bits & COVERED:
        bits &= ~HARDWARE
    found = [why for bit, why in REASONS.items() if bits & bit]
    if found:
        level = next(one for one in (Level.FAIL, Level.WARN, Level.INFO) if one in {level for level, _ in found})
        heat = "" if gpu.temperature_c is None else f" ({gpu.temperature_c} C)"
        yield RULE.finding(
            level,
            gpu.bus_id,
            f"{gpu.name}{heat}: {'; '.join(words for _, words in found)}",
            fix=level is not Level.INFO,
            clock_reasons=gpu.clock_reasons,
            temperature_c=gpu.temperature_c,
            sm_mhz=gpu.clocks_mhz.get("sm"),
        )


def _between(gpu: GpuHealth, later: GpuHealth, seconds: float) -> Iterator[Finding]:
    """The share of the time that was spent at a lower clock."""
    rise = rises(gpu.throttled_ns, later.throttled_ns)
    for cause, (level, words) in CAUSES.items():
        share = rise.get(cause, 0) / (seconds * PER_S)
        if share >= LEAST_SHARE:
            message = f"{gpu.name}: slowed down for {min(share, 1):.0%} of {seconds:.1f} s by {words}"
            yield RULE.finding(
                level, gpu.bus_id, message, fix=level is not Level.INFO, cause=cause, share=round(share, 3)
            )


RULE = Rule(card=GPU_THROTTLED, concerns=has_health, check=_check, asking=_asking)
