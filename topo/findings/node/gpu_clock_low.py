# SPDX-License-Identifier: Apache-2.0
"""GPUs whose clocks are lower than those of others of their model."""

from collections.abc import Iterator
from statistics import median_high

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_CLOCK_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import by_model, has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

HIGHEST = {"sm_max": "highest SM clock", "memory_max": "highest memory clock"}
IDLE = 0x1  # nvmlClocksEventReasonGpuIdle
LEAST_SHARE = 0.8  # of the siblings' clock under load: chips differ by less


def _check(machine: Machine) -> Iterator[Finding]:
    for gpus in by_model(machine):
        for name, words in HIGHEST.items():
            yield from _below(gpus, name, words, 1.0)
        yield from _below([gpu for gpu in gpus if _busy(gpu)], "sm", "SM clock under load", LEAST_SHARE)
    yield from unread(RULE, machine, "clocks_mhz", lambda gpu: gpu.clocks_mhz.get("sm_max") is not None)


def _below(gpus: list[GpuHealth], name: str, words: str, share: float) -> Iterator[Finding]:
    """GPUs whose clock is below a share of what half of them or more have."""
    known = [clock for gpu in gpus if (clock := gpu.clocks_mhz.get(name)) is not None]
    usual = median_high(known) if known else 0
    for gpu in gpus:
        clock = gpu.clocks_mhz.get(name)
        if clock is not None and clock < share * usual:
            message = f"{gpu.name}: {words} {clock} MHz, siblings {usual} MHz"
            yield RULE.finding(Level.WARN, gpu.bus_id, message, mhz=clock, siblings_mhz=usual)


def _busy(gpu: GpuHealth) -> bool:
    return gpu.clock_reasons is not None and not gpu.clock_reasons & IDLE and gpu.pstate == 0


def _concerns(machine: Machine) -> bool:
    """Several GPUs; one alone has no siblings."""
    return machine.facts is None or (has_health(machine) and len(machine.topology.gpus) != 1)


RULE = Rule(card=GPU_CLOCK_LOW, concerns=_concerns, check=_check)
