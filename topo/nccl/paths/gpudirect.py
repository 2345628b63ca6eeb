# SPDX-License-Identifier: Apache-2.0
"""Whether NCCL uses GPUDirect RDMA between a GPU and a NIC, and the first of its conditions that fails.

NCCL's function: `ncclTopoCheckGdr` (2.30), which logs its reason in TRACE builds only.
"""

from enum import StrEnum
from typing import NamedTuple

from railgauge.topo.nccl.graph.model import PATH_TYPES, Node
from railgauge.topo.nccl.paths.local import local_cpu
from railgauge.topo.nccl.paths.path_search import C2C, NVL, P2C, PXB
from railgauge.topo.nccl.paths.route_table import RouteTable
from railgauge.topo.nccl.settings.levels import Levels, PathTypeLimit

ORDERED_FROM_SM = 90
READS_FROM_SM = 80  # older GPUs let a NIC read their memory at a fraction of its speed


class GdrCondition(StrEnum):
    """NCCL's conditions, in the order of its checks."""

    NIC = "nic-without-gdr"
    GPU = "gpu-without-gdr"
    READ_DISABLED = "read-disabled"
    OLD_GPU = "old-gpu-without-nvlink"
    TOO_FAR = "too-far"


class GpuDirect(NamedTuple):
    """The decision for one direction. `failed` is the first condition that fails, None if GPUDirect RDMA is used.

    distance: the path type that counts, between the NIC and the GPU or, with PXN, the GPU that relays (`relay`, its
    id). pci_mapping: the GPU has a chip-to-chip link, but its memory is mapped over PCI.
    """

    failed: GdrCondition | None
    distance: str
    level: PathTypeLimit
    relay: str | None = None
    pci_mapping: bool = False

    @property
    def on(self) -> bool:
        """Whether it is used."""
        return self.failed is None


def gpu_direct(table: RouteTable, gpu: Node, net: Node, levels: Levels, *, sending: bool) -> GpuDirect:
    """The decision for a GPU and a NIC; `sending` reads the GPU's memory."""
    relay = table.relays.get((gpu.id, net.id))
    distance = table.undetoured(relay or gpu, net).kind
    level = levels.gdr or default_level(levels)
    failed = _failed(table, gpu, net, levels, sending=sending)
    if failed is None and distance > level.rank:
        failed = GdrCondition.TOO_FAR
    cpu = local_cpu(table, relay or gpu)
    near = cpu is not None and table.route(relay or gpu, cpu).kind == C2C
    return GpuDirect(
        failed=failed,
        distance=PATH_TYPES[distance],
        level=level,
        relay=relay.id if relay else None,
        pci_mapping=failed is None and near and distance != P2C,
    )


def needs_flush(table: RouteTable, gpu: Node, net: Node) -> bool:
    """Whether data that a NIC wrote into a GPU needs a read by the NIC after it before a kernel may use it.

    NCCL's function: `ncclTopoNeedFlush`. Not needed from Hopper on, unless data and flags take different routes.
    """
    if (gpu.sm or 0) < ORDERED_FROM_SM:
        return True
    cpu = local_cpu(table, gpu)
    return cpu is not None and table.route(gpu, cpu).kind == C2C and table.route(gpu, net).kind <= PXB


def default_level(levels: Levels) -> PathTypeLimit:
    """How far GPUDirect RDMA reaches without NCCL_NET_GDR_LEVEL."""
    return PathTypeLimit(type="P2C" if levels.gdr_c2c else "PXB", source="NCCL's default" + _without_c2c(levels))


def _without_c2c(levels: Levels) -> str:
    return "" if levels.gdr_c2c else " with NCCL_NET_GDR_C2C=0"


def _failed(table: RouteTable, gpu: Node, net: Node, levels: Levels, *, sending: bool) -> GdrCondition | None:
    if not net.gdr:
        return GdrCondition.NIC
    if not gpu.gdr:
        return GdrCondition.GPU
    if sending and levels.gdr_read == 0:
        return GdrCondition.READ_DISABLED
    if sending and levels.gdr_read < 0 and (gpu.sm or 0) < READS_FROM_SM and not _alone_or_linked(table, gpu):
        return GdrCondition.OLD_GPU
    return None


def _alone_or_linked(table: RouteTable, gpu: Node) -> bool:
    others = [other for other in table.gpus if other is not gpu]
    return not others or any(table.route(gpu, other).kind == NVL for other in others)
