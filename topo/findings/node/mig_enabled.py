# SPDX-License-Identifier: Apache-2.0
"""GPUs in MIG mode."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import MIG_ENABLED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    gpus = machine.sources.gpus
    for gpu in gpus:
        if gpu.mig:
            yield RULE.finding(
                Level.WARN if len(gpus) > 1 else Level.INFO,
                gpu.bus_id,
                f"GPU{gpu.index} ({gpu.bus_id}) is in MIG mode",
                effect=RULE.card.effect,
                gpus=len(gpus),
            )


def _concerns(machine: Machine) -> bool:
    """GPUs that support MIG; all of them if NVML does not answer."""
    if machine.facts is None or machine.facts.no_nvml is not None:
        return machine.facts is None or has_gpus(machine)
    return any(gpu.mig is not None for gpu in machine.facts.gpus)


RULE = Rule(card=MIG_ENABLED, needs=(Need.MACHINE, Need.NVML), concerns=_concerns, check=_check)
