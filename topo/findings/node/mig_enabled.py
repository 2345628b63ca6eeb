# SPDX-License-Identifier: Apache-2.0
"""GPUs in MIG mode."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import MIG_ENABLED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule


def _check(case: Case) -> Iterator[Finding]:
    gpus = case.inventory.gpus if case.inventory else ()
    for gpu in gpus:
        if gpu.mig:
            yield RULE.finding(
                Level.WARN if len(gpus) > 1 else Level.INFO,
                gpu.bus_id,
                f"GPU{gpu.index} ({gpu.bus_id}) is in MIG mode",
                effect=RULE.card.effect,
                gpus=len(gpus),
            )


def _concerns(case: Case) -> bool:
    """GPUs that support MIG; all of them if NVML does not answer."""
    if case.inventory is None or case.inventory.no_nvml is not None:
        return case.inventory is None or has_gpus(case)
    return any(gpu.mig is not None for gpu in case.inventory.gpus)


RULE = Rule(card=MIG_ENABLED, needs=(Need.MACHINE, Need.NVML), concerns=_concerns, check=_check)
