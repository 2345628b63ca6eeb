# SPDX-License-Identifier: Apache-2.0
"""Affinity of devices: the NICs of a GPU, the GPU of a NIC, the CPU of a GPU.

NCCL's functions: `ncclTopoGetLocalNet`, `ncclTopoGetLocalGpu`, `ncclGetLocalCpu` (2.30).
"""

from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.paths.route_table import RouteTable

MOST_TRIED = 64  # MAXCHANNELS: channels for which a NIC is chosen


def local_nets(table: RouteTable, gpu: Node, most: int | None = None) -> list[Node]:
    """The NICs that a GPU uses, by channel, repeating; empty without NICs.

    `most` NICs per GPU (NCCL_NETDEVS_POLICY); None distributes them evenly (AUTO).
    """
    nets = table.nearest(gpu, NodeKind.NET)
    if not nets:
        return []
    gpus = max(1, len(table.nearest(nets[0], NodeKind.GPU)))
    at = gpu.device_number % gpus
    if len(nets) & (len(nets) - 1) == 0:
        at = mirror_bits(at, len(nets))
    each = -(-len(nets) // gpus) if most is None else min(most, len(nets))
    return [nets[(at + channel) % len(nets)] for channel in range(each)]


def mirror_bits(value: int, power: int) -> int:
    """Reverse the low bits of `value`; `power` is the power of two above them: 1 of 8 becomes 4."""
    mirrored, bit, image = 0, 1, power >> 1
    while bit < power:
        if value & bit:
            mirrored |= image
        bit, image = bit << 1, image >> 1
    return mirrored


def local_gpu(table: RouteTable, net: Node, most: int | None = None) -> Node | None:
    """The first GPU of a NIC; None if no GPU near it would choose it."""
    choices = [(gpu, local_nets(table, gpu, most)) for gpu in table.nearest(net, NodeKind.GPU)]
    for channel in range(min(MOST_TRIED, max((len(nets) for _, nets in choices), default=0))):
        for gpu, nets in choices:
            if nets and nets[channel % len(nets)] is net:
                return gpu
    return None


def local_cpu(table: RouteTable, gpu: Node) -> Node | None:
    """The CPU with the fewest hops from a GPU, the first of equals; None for a GPU that reaches none."""
    reached = [(table.route(gpu, cpu).hops, cpu) for cpu in table.cpus]
    return min((pair for pair in reached if pair[0]), key=lambda pair: pair[0], default=(0, None))[1]
