# SPDX-License-Identifier: Apache-2.0
"""GPUs in a multi-node NVLink fabric without an IMEX channel to map each other's memory through."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.imex import CHANNELS
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.findings.cards.nvlink import IMEX_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    imex = machine.sources.imex
    if imex.channels:
        return
    if imex.in_driver is None:
        yield RULE.unknown(machine.host, f"IMEX channels were not captured ({CHANNELS})")
        return
    where = "this container has none" if imex.in_driver else "the driver offers none"
    yield RULE.finding(
        Level.WARN,
        CHANNELS,
        f"{len(_in_fabric(machine))} GPUs are in a fabric of several nodes, and {where} of {CHANNELS}/channel*",
        effect=RULE.card.effect,
        in_driver=imex.in_driver,
    )


def _in_fabric(machine: Machine) -> list[NvmlGpu]:
    """GPUs whose fabric has a cluster UUID: those of one node alone have zeros."""
    gpus = machine.sources.gpus
    return [gpu for gpu in gpus if gpu.fabric and (gpu.fabric.cluster or "").strip("0")]


RULE = Rule(
    card=IMEX_MISSING, concerns=lambda machine: machine.facts is None or bool(_in_fabric(machine)), check=_check
)
