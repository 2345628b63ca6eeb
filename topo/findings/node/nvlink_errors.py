# SPDX-License-Identifier: Apache-2.0
"""Errors that NVLinks count: with -r 2 those that rise between two readings, else those of one reading."""

from collections import Counter
from collections.abc import Iterator, Mapping

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import NVLINK_ERRORS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import GpuReadings, has_health, once, twice, unread
from railgauge.topo.findings.node.rising import rates, rise_words, rises
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

RATIOS = ("effective_ber", "symbol_ber")
MOST_BER = 1e-12  # above it DCGM warns, too
MANTISSA_SHIFT, MANTISSA, EXPONENT = 8, 0xF, 0xFF  # NVML_NVLINK_BER_*: mantissa x 10^-exponent


def bit_error_rate(raw: int) -> float:
    """The bit error rate that NVML packs into a counter."""
    return float((raw >> MANTISSA_SHIFT & MANTISSA) * 10.0 ** -(raw & EXPONENT))


def _check(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, once(machine))


def _asking(machine: Machine) -> Iterator[Finding]:
    return _judged(machine, twice(machine))


def _judged(machine: Machine, readings: GpuReadings) -> Iterator[Finding]:
    linked = [gpu for gpu in readings.first.gpus if _has_links(machine, gpu)]
    for gpu in linked:
        later = readings.again(gpu)
        if later and len(later.nvlinks) == len(gpu.nvlinks):
            yield from _rising(gpu, later, readings.seconds)
        else:
            yield from _seen(gpu)
        yield from _ratios(gpu)
    yield from unread(RULE, machine, "nvlinks", lambda gpu: any(gpu.nvlinks), linked)


def _rising(gpu: GpuHealth, later: GpuHealth, seconds: float) -> Iterator[Finding]:
    for link, (before, after) in enumerate(zip(gpu.nvlinks, later.nvlinks, strict=True)):
        if rise := rises(_errors(before), _errors(after)):
            message = f"{gpu.name} NVLink {link}: {rise_words(rise, seconds)}"
            yield RULE.finding(
                Level.WARN, gpu.bus_id, message, link=link, rise=rise, per_s=rates(rise, seconds), seconds=seconds
            )


def _seen(gpu: GpuHealth) -> Iterator[Finding]:
    """The errors of one reading, of all links together; a recovery that failed is a fault by itself."""
    total: Counter[str] = Counter()
    for counts in gpu.nvlinks:
        total.update({name: count for name, count in _errors(counts).items() if count})
    if total:
        links = [link for link, counts in enumerate(gpu.nvlinks) if any(_errors(counts).values())]
        named = ", ".join(f"{name} {count}" for name, count in total.items())
        failed = "recovery_failed" in total
        hint = "" if failed else "; to see whether they rise, run with -r 2 on the machine"
        message = f"{gpu.name}: {named} on NVLinks {', '.join(map(str, links))} since the last reset{hint}"
        yield RULE.finding(Level.WARN if failed else Level.INFO, gpu.bus_id, message, counts=dict(total), links=links)


def _ratios(gpu: GpuHealth) -> Iterator[Finding]:
    for link, counts in enumerate(gpu.nvlinks):
        for name in RATIOS:
            if name in counts and (rate := bit_error_rate(counts[name])) > MOST_BER:
                message = f"{gpu.name} NVLink {link}: {name} {rate:.1e}, above {MOST_BER:g}"
                yield RULE.finding(Level.WARN, gpu.bus_id, message, link=link, counter=name, rate=rate)


def _errors(counts: Mapping[str, int]) -> dict[str, int]:
    """The counters of a link that count errors."""
    return {name: count for name, count in counts.items() if name not in RATIOS}


def _has_links(machine: Machine, gpu: GpuHealth) -> bool:
    """Whether a GPU has NVLinks that are up, by NVML or by their counters."""
    known = machine.sources.gpu(gpu.bus_id)
    return any(gpu.nvlinks) or (known is not None and any(link.up for link in known.links))


def _concerns(machine: Machine) -> bool:
    """Machines whose GPUs have NVLinks; all if that is unknown."""
    if machine.facts is None:
        return True
    if machine.facts.no_nvml is not None:
        return has_health(machine)
    return any(link.up for gpu in machine.facts.gpus for link in gpu.links)


RULE = Rule(card=NVLINK_ERRORS, concerns=_concerns, check=_check, asking=_asking)
