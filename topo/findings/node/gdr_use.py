# SPDX-License-Identifier: Apache-2.0
"""Prerequisites of GPUDirect RDMA on a machine, for the rules about its two mechanisms: peer memory and DMA-BUF."""

from railgauge.topo.facts.sources.gdr import nic_gdr
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import PATH_TYPES
from railgauge.topo.nccl.paths.gpudirect import default_level
from railgauge.topo.nccl.settings.parameter import parameter


def wanted(machine: Machine) -> bool:
    """Whether there are GPUs and hardware RDMA ports that could use it."""
    if machine.facts is None:
        return False
    hardware = [port for port in machine.rdma_ports if not port.device.virtual]
    without = machine.facts.gdr.gpus_without
    return bool(hardware) and any(gpu.bus_id not in without for gpu in machine.facts.gpus)


def in_reach(machine: Machine) -> bool:
    """Whether a GPU is near enough to a NIC for it. A VM does not show the distance."""
    if machine.facts is None or machine.facts.host.virtual:
        return True
    names, levels = {port.name for port in machine.rdma_ports}, machine.steering.levels
    furthest = (levels.gdr or default_level(levels)).rank
    pairs = ((gpu.id, net.id) for gpu in machine.system.gpus for net in machine.system.nets if net.name in names)
    return any(PATH_TYPES.index(machine.paths.wired(*pair).type) <= furthest for pair in pairs)


def by_dma_buf(machine: Machine) -> tuple[bool | None, str]:
    """Whether the first port supports it without a peer-memory module, and why not; None if unknown."""
    if machine.facts is None or not machine.rdma_ports:
        return None, ""
    alone = machine.facts.gdr._replace(peer_memory=())
    enabled = parameter(machine.settings, "NCCL_DMABUF_ENABLE", 1) != 0
    works, why = nic_gdr(alone, machine.rdma_ports[0].dma_buf, dma_buf_enabled=enabled)
    return works, why.partition("DMA-BUF: ")[2] or why.partition(", and ")[2] or why
