# SPDX-License-Identifier: Apache-2.0
"""DMA-BUF, the kernel's own way to GPUDirect RDMA, does not work."""

from collections.abc import Iterator
from typing import Any

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
        yield RULE.finding(Level.INFO, case.host, f"{why}; the peer-memory module serves", remedy="", **evidence)
    elif not works:
        level = Level.WARN if in_reach(case) else Level.INFO
        yield RULE.finding(level, case.host, f"{why}, and there is no peer-memory module", **evidence)


RULE = Rule(
    id="dmabuf-unsupported",
    title="DMA-BUF does not work",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "DMA-BUF needs Linux 5.12, NVIDIA's open kernel modules, CUDA 11.7, a GPU that exports its memory, and an RDMA "
        "driver and libibverbs (34 or later) that register it. Containers often bring an old libibverbs."
    ),
    passes="the kernel, the driver, the GPUs and the NICs can do DMA-BUF",
    reads=(
        "/proc/sys/kernel/osrelease",
        "/proc/driver/nvidia/version (Open Kernel Module)",
        "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED",
        "ibv_reg_dmabuf_mr with a bad descriptor",
    ),
    shows=("Call to ibv_reg_dmabuf_mr failed with error Operation not supported",),
    sure="railgauge topo show --view rdma; perftest's ib_write_bw --use_cuda=0 --use_cuda_dmabuf",
    remedy="NVIDIA's open kernel modules and rdma-core 34 or later, or nvidia_peermem",
    links=("https://github.com/NVIDIA/nccl/issues/778", "https://github.com/linux-rdma/perftest/issues/280"),
    concerns=lambda case: case.inventory is None or wanted(case),
    check=_check,
)
