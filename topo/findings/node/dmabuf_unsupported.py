# SPDX-License-Identifier: Apache-2.0
"""DMA-BUF, the kernel's own mechanism for GPUDirect RDMA, does not work."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.gdr import DMABUF_UNSUPPORTED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gdr_use import by_dma_buf, in_reach, wanted
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    if machine.facts is None:
        return
    works, why = by_dma_buf(machine)
    gdr = machine.facts.gdr
    evidence: dict[str, Any] = {"kernel": gdr.kernel, "open_driver": gdr.open_driver, "gpus_export": gdr.dma_buf_gpus}
    if works is None:
        yield RULE.unknown(machine.host, why, **evidence)
    elif not works and gdr.peer_memory:
        yield RULE.finding(Level.INFO, machine.host, f"{why}; using the peer-memory module (OK)", fix=False, **evidence)
    elif not works:
        level = Level.FAIL if in_reach(machine) else Level.INFO
        yield RULE.finding(level, machine.host, f"{why}, and no peer-memory module is loaded", **evidence)


RULE = Rule(card=DMABUF_UNSUPPORTED, concerns=lambda machine: machine.facts is None or wanted(machine), check=_check)
