# SPDX-License-Identifier: Apache-2.0
"""DMA-BUF, the kernel's own way to GPUDirect RDMA, does not work."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.rdma import DMABUF_UNSUPPORTED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.gdr_use import by_dma_buf, in_reach, wanted
from railgauge.topo.findings.node.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    if case.inventory is None:
        return
    works, why = by_dma_buf(case)
    gdr = case.inventory.gdr
    evidence: dict[str, Any] = {"kernel": gdr.kernel, "open_driver": gdr.open_driver, "gpus_export": gdr.dma_buf_gpus}
    if works is None:
        yield RULE.unknown(case.host, why, **evidence)
    elif not works and gdr.peer_memory:
        yield RULE.finding(Level.INFO, case.host, f"{why}; using the peer-memory module (OK)", fix=False, **evidence)
    elif not works:
        level = Level.WARN if in_reach(case) else Level.INFO
        yield RULE.finding(level, case.host, f"{why}, and there is no peer-memory module", **evidence)


RULE = Rule(card=DMABUF_UNSUPPORTED, concerns=lambda case: case.inventory is None or wanted(case), check=_check)
