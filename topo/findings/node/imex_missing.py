# SPDX-License-Identifier: Apache-2.0
"""GPUs in a multi-node NVLink fabric without an IMEX channel to map each other's memory through."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.imex import CHANNELS
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.findings.cards.nvlink import IMEX_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    imex = case.evidence.imex
    if imex.channels:
        return
    if imex.in_driver is None:
        yield RULE.unknown(case.host, f"IMEX channels were not captured ({CHANNELS})")
        return
    where = "this container has none" if imex.in_driver else "the driver offers none"
    yield RULE.finding(
        Level.WARN,
        CHANNELS,
        f"{len(_in_fabric(case))} GPUs are in a fabric of several nodes, and {where} of {CHANNELS}/channel*",
        effect=RULE.card.effect,
        in_driver=imex.in_driver,
    )


def _in_fabric(case: Case) -> list[NvmlGpu]:
    """GPUs whose fabric has a cluster UUID: those of one node alone have zeros."""
    gpus = case.inventory.gpus if case.inventory else ()
    return [gpu for gpu in gpus if gpu.fabric and (gpu.fabric.cluster or "").strip("0")]


RULE = Rule(card=IMEX_MISSING, concerns=lambda case: case.inventory is None or bool(_in_fabric(case)), check=_check)
