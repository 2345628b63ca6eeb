# SPDX-License-Identifier: Apache-2.0
"""No peer-memory module of NVIDIA's, by which NICs read and write the GPUs' memory."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.rdma import PEERMEM_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.effect import once_fixed
from railgauge.topo.findings.node.gdr_use import by_dma_buf, in_reach, wanted
from railgauge.topo.findings.node.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    if case.inventory is None or case.inventory.gdr.peer_memory:
        return
    works, why = by_dma_buf(case)
    evidence: dict[str, Any] = {"peer_memory": [], "dma_buf": works, "driver": case.inventory.gdr.driver}
    if works:
        yield RULE.finding(
            Level.INFO, case.host, "nvidia_peermem not loaded; using DMA-BUF (OK)", fix=False, **evidence
        )
    elif works is None:
        yield RULE.unknown(case.host, f"nvidia_peermem not loaded; whether DMA-BUF works is unknown: {why}", **evidence)
    elif not in_reach(case):
        told = "no peer-memory module is loaded; no NIC is near enough to a GPU for GPUDirect RDMA either"
        yield RULE.finding(Level.INFO, case.host, told, fix=False, **evidence)
    else:
        names = [port.name for port in case.rdma_ports]
        yield RULE.finding(
            Level.WARN,
            case.host,
            f"no peer-memory module is loaded, and no DMA-BUF instead ({why}): {', '.join(names)} reach GPUs through "
            "host memory",
            effect=once_fixed(case, [f"{name}.gdr=1" for name in names]),
            **evidence,
        )


RULE = Rule(card=PEERMEM_MISSING, concerns=lambda case: case.inventory is None or wanted(case), check=_check)
