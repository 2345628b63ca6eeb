# SPDX-License-Identifier: Apache-2.0
"""What is local to what: the NICs of a GPU, the GPU of a NIC, the CPU of a GPU.

NCCL's functions: `ncclTopoGetLocal`, `ncclTopoGetLocalNet`, `ncclTopoGetLocalGpu`, `ncclGetLocalCpu` (2.30).
"""

from railgauge.topo.model import Node, System
from railgauge.topo.path_search import DIS, NOWHERE, Route

MOST_TRIED = 64  # MAXCHANNELS: channels for which a NIC is chosen
Table = dict[tuple[str, str], Route]


def nearest(table: Table, node: Node, others: tuple[Node, ...]) -> list[Node]:
    """Those of `others` with the most bandwidth from `node`, of the nearest type among these."""
    best, kind, found = 0.0, DIS, list[Node]()
    for other in others:
        route = table.get((node.id, other.id), NOWHERE)
        if route.gb_per_s > best or (route.gb_per_s == best and route.kind < kind):
            best, kind, found = route.gb_per_s, route.kind, []
        if route.gb_per_s == best and route.kind == kind:
            found.append(other)
    return found


def local_net(system: System, table: Table, gpu: Node, channel: int) -> Node | None:
    """The NIC that a GPU uses for a channel; None without NICs."""
    nets = nearest(table, gpu, system.nets)
    if not nets:
        return None
    gpus = nearest(table, nets[0], system.gpus)
    dev = gpu.dev or 0
    at = dev % len(gpus) if gpus else dev
    if len(nets) & (len(nets) - 1) == 0:
        at = mirror_bits(at, len(nets))
    each = -(-len(nets) // max(1, len(gpus)))
    return nets[(at + channel % each) % len(nets)]


def mirror_bits(value: int, power: int) -> int:
    """Reverse the low bits of `value`; `power` is the power of two above them: 1 of 8 becomes 4."""
    mirrored, bit, image = 0, 1, power >> 1
    while bit < power:
        if value & bit:
            mirrored |= image
        bit, image = bit << 1, image >> 1
    return mirrored


def local_gpu(system: System, table: Table, net: Node) -> Node | None:
    """The GPU that a NIC serves first; None when no GPU near it would choose it."""
    gpus = nearest(table, net, system.gpus)
    choices = {gpu.id: nearest(table, gpu, system.nets) for gpu in gpus}
    for channel in range(min(MOST_TRIED, max((len(c) for c in choices.values()), default=0) + 1)):
        for gpu in gpus:
            chosen = local_net(system, table, gpu, channel)
            if chosen is not None and chosen.id == net.id:
                return gpu
    return None


def local_cpu(table: Table, gpu: Node, cpus: tuple[Node, ...]) -> Node | None:
    """The CPU with the fewest hops from a GPU, the first of equals."""
    best: Node | None = None
    hops = 0
    for cpu in cpus:
        route = table.get((gpu.id, cpu.id), NOWHERE)
        count = len(route.links)
        if count > 0 and (best is None or count < hops):
            best, hops = cpu, count
    return best
