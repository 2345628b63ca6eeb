# SPDX-License-Identifier: Apache-2.0
"""No peer-memory module of NVIDIA's, by which NICs read and write the GPUs' memory."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.facts.sources.gdr import PEER_MEMORY
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
        yield RULE.finding(Level.INFO, case.host, "no peer-memory module: DMA-BUF serves", remedy="", **evidence)
    elif works is None:
        yield RULE.unknown(case.host, f"no peer-memory module is loaded; whether DMA-BUF serves: {why}", **evidence)
    elif not in_reach(case):
        told = "no peer-memory module is loaded; no NIC is near enough to a GPU for GPUDirect RDMA either"
        yield RULE.finding(Level.INFO, case.host, told, remedy="", **evidence)
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


RULE = Rule(
    id="peermem-missing",
    title="nvidia_peermem is not loaded",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "GPUDirect RDMA takes a peer-memory module or DMA-BUF. The module is lost by a reboot or an update of the "
        "driver, and does not load when it was built against other RDMA modules than those that run. Without either "
        "each byte goes through host memory, at a half or less of the bandwidth, and NCCL says so in one line only."
    ),
    passes="a peer-memory module is loaded",
    reads=PEER_MEMORY,
    shows=("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0"),
    sure="lsmod | grep nvidia_peermem; modprobe nvidia_peermem; dmesg",
    remedy=(
        "modprobe nvidia_peermem, and a file in /etc/modules-load.d; Invalid argument: install NVIDIA's driver again "
        "after the RDMA stack; or use the open kernel modules, whose DMA-BUF needs no module"
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1537", "https://github.com/NVIDIA/gpu-operator/issues/2868"),
    concerns=lambda case: case.inventory is None or wanted(case),
    check=_check,
)
