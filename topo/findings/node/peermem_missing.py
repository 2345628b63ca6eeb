# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's peer-memory module, with which NICs access GPU memory, is not loaded."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.gdr_use import by_dma_buf, in_reach, wanted
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    if machine.facts is None or machine.facts.gdr.peer_memory:
        return
    works, why = by_dma_buf(machine)
    evidence: dict[str, Any] = {"peer_memory": [], "dma_buf": works, "driver": machine.facts.gdr.driver}
    if works:
        yield RULE.finding(
            Level.INFO, machine.host, "nvidia_peermem not loaded; using DMA-BUF (OK)", fix=False, **evidence
        )
    elif works is None:
        yield RULE.unknown(
            machine.host, f"nvidia_peermem not loaded; whether DMA-BUF works is unknown: {why}", **evidence
        )
    elif not in_reach(machine):
        message = "nvidia_peermem not loaded; no NIC is near enough to a GPU for GPUDirect RDMA anyway"
        yield RULE.finding(Level.INFO, machine.host, message, fix=False, **evidence)
    else:
        names = ", ".join(port.name for port in machine.rdma_ports)
        off = f"nvidia_peermem not loaded, and DMA-BUF does not work ({why})"
        message = f"{off}: {names} reach GPUs through host memory"
        yield Prices(machine).on(RULE.finding(Level.FAIL, machine.host, message, **evidence))


def _repairs(machine: Machine) -> Iterator[Repair]:
    facts = machine.facts
    if facts is not None and not facts.gdr.peer_memory and by_dma_buf(machine)[0] is False and in_reach(machine):
        yield _repair(machine)


def _repair(machine: Machine) -> Repair:
    return Repair(subject=machine.host, sets=tuple(f"{port.name}.gdr=1" for port in machine.rdma_ports))


RULE = Rule(
    card=PEERMEM_MISSING,
    concerns=lambda machine: machine.facts is None or wanted(machine),
    check=_check,
    repairs=_repairs,
)
