# SPDX-License-Identifier: Apache-2.0
"""Data that passes host memory on a machine without NUMA nodes, as a VM with a flat PCI tree is.

NCCL uses no GPUDirect RDMA beyond PXB (P2C with chip-to-chip links; `ncclTopoCheckGdr`), and no P2P beyond PXB
(`ncclTopoCheckP2p`; with two GPUs on AMD it does): where GPUs and NICs stand side by side on bus 0, a GPU writes into a
buffer of host memory, and the NIC or the other GPU reads it there. The forecast counts the PCI links on that way. On
which socket of the host the buffer is, what lies between, and whether an IOMMU translates, no guest can see: what the
way passes cannot be known. Published: 51 to 55 GB/s of busbw at 864 MiB and 7.6 GiB (the better of out of place and in
place) between two VMs of 8 H200 and 8 NICs of 400 Gb/s, which reach 459 to 489 on bare metal (nccl-tests#256); 27 of
the 39 GB/s forecast between two H200 of one VM without P2P (benchmarks/gpu_vs_nccl).
"""

from itertools import pairwise

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.predict.plan import NodePlan

NUMALESS = "NUMA-1"


def staged(plan: NodePlan) -> str:
    """What passes host memory of an unknown place, and what that means for the forecast; "" where nothing does."""
    if plan.on_host or any(names_of(cpu)[0] != NUMALESS for cpu in plan.system.kind(NodeKind.CPU)):
        return ""
    if far := _between(plan):
        ways = f"GPUs and NICs exchange through host memory ({far[0]}, no GPUDirect RDMA)"
        reached = "two such VMs of 8 H200 with 8 NICs reached 51 to 55 GB/s (nccl-tests#256)"
    elif _without_p2p(plan):
        ways, reached = "GPUs exchange through host memory (SHM)", "two H200 of such a VM reached 27 of 39 GB/s"
    else:
        return ""
    return (
        f"{ways}, and the machine shows no NUMA nodes (a VM?): what that memory passes cannot be known, figures are an "
        f"upper bound; {reached}"
    )


def needs_host(plan: NodePlan) -> bool:
    """Whether cores or memory of the host take part: threads that drive NICs, or SHM in place of P2P."""
    return not plan.on_host and (plan.nodes > 1 or _without_p2p(plan))


def _between(plan: NodePlan) -> list[str]:
    """Path types from GPUs to the NICs of rings without GPUDirect RDMA."""
    nets = {dev_number(net): net.id for net in plan.system.nets}
    ranks = plan.system.ranks
    ends = [
        (ranks[channel.ranks[place]].id, nets[channel.nets[place]], place == -1)
        for channel in plan.graphs.ring.channels
        if channel.nets
        for place in (0, -1)
    ]
    ways = [plan.table.gpu_direct(gpu, net, sending=sending) for gpu, net, sending in ends]
    return [way.distance for way in ways if not way.on]


def _without_p2p(plan: NodePlan) -> bool:
    """Whether neighbours of rings have no P2P."""
    ranks = plan.system.ranks
    pairs = (pair for channel in plan.graphs.ring.channels for pair in pairwise(channel.ranks))
    return any(not plan.table.peer_access(ranks[a].id, ranks[b].id).allowed for a, b in pairs)
