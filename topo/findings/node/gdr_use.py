# SPDX-License-Identifier: Apache-2.0
"""Prerequisites of GPUDirect RDMA on a machine, for the rules about its two mechanisms: peer memory and DMA-BUF."""

from dataclasses import replace

from railgauge.topo.facts.sources.gdr import nic_gdr
from railgauge.topo.findings.node.case import Case
from railgauge.topo.nccl.graph.model import PATH_TYPES
from railgauge.topo.nccl.paths.gpudirect import default_level
from railgauge.topo.nccl.settings.parameter import parameter


def wanted(case: Case) -> bool:
    """Whether there are GPUs and hardware RDMA ports that could use it."""
    if case.inventory is None:
        return False
    hardware = [port for port in case.rdma_ports if not port.device.virtual]
    without = case.inventory.gdr.gpus_without
    return bool(hardware) and any(gpu.bus_id not in without for gpu in case.inventory.gpus)


def in_reach(case: Case) -> bool:
    """Whether a GPU is near enough to a NIC for it. A VM does not show the distance."""
    if case.inventory is None or case.inventory.host.virtual:
        return True
    names, levels = {port.name for port in case.rdma_ports}, case.steering.levels
    furthest = (levels.gdr or default_level(levels)).rank
    pairs = ((gpu.id, net.id) for gpu in case.system.gpus for net in case.system.nets if net.name in names)
    return any(PATH_TYPES.index(case.table.wired(*pair).type) <= furthest for pair in pairs)


def by_dma_buf(case: Case) -> tuple[bool | None, str]:
    """Whether the first port supports it without a peer-memory module, and why not; None if unknown."""
    if case.inventory is None:
        return None, ""
    alone = replace(case.inventory.gdr, peer_memory=())
    enabled = parameter(case.settings, "NCCL_DMABUF_ENABLE", 1) != 0
    works, why = nic_gdr(alone, case.rdma_ports[0].dma_buf, dma_buf_enabled=enabled)
    return works, why.partition("DMA-BUF: ")[2] or why.partition(", and ")[2] or why
