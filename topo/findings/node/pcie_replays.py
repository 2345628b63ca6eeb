# SPDX-License-Identifier: Apache-2.0
"""PCIe packets of GPUs that were sent again."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.health import PCIE_REPLAYS
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
        later = readings.again(gpu)
        counts = [{"replays": one.pcie_replays} for one in (gpu, later) if one]
        if later and (rise := rises(*counts)):
            message = f"{gpu.name}: {rise_words(rise, readings.seconds)}"
            yield RULE.finding(Level.WARN, gpu.bus_id, message, rise=rise, per_s=rates(rise, readings.seconds))
        elif not later and gpu.pcie_replays:
            hint = "to see whether they rise, run with -r 2 on the machine"
            message = f"{gpu.name}: {gpu.pcie_replays} PCIe replays since the last reset; {hint}"
            yield RULE.finding(Level.INFO, gpu.bus_id, message, replays=gpu.pcie_replays)
    yield from unread(RULE, machine, "pcie_replays", lambda gpu: gpu.pcie_replays is not None)


RULE = Rule(card=PCIE_REPLAYS, concerns=has_health, check=_check, asking=_asking)
