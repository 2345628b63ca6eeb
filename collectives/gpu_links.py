# SPDX-License-Identifier: Apache-2.0
"""What a node's topology says about the GPUs of its ranks: how they reach each other, and which cores are near."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.collectives.node import Direct
from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.graph.subset import with_gpus
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import Paths, paths
from railgauge.topo.nccl.settings.flush import read_flush
from railgauge.topo.nccl.settings.levels import read_levels
from railgauge.topo.values.busid import to_number
from railgauge.topo.xml.topology import Topology

NVLINK = "NVL"
"""The type of a path by NVLink, through a switch or not."""


@dataclass(frozen=True, slots=True)
class GpuLinks:
    """By rank and rank of a node: whether NCCL uses P2P, and GB/s of the path; and whether all have NVLink. By rank the
    NIC that NCCL selects for its GPU, and how the GPU can use each NIC; none without NICs.
    """

    p2p: list[list[bool]]
    gb_per_s: list[list[float]]
    nvlink: bool
    nics: list[Node]
    direct: list[list[Direct]]


def of_gpus(topology: Topology, bus_ids: Sequence[str]) -> Topology:
    """The topology with those GPUs only, as ranks in that order.

    Raises:
        UnavailableError: one of them is not in it.
    """
    there = {to_number(gpu.bus_id): gpu for gpu in build_system(topology).gpus if gpu.bus_id}
    missing = [bus_id for bus_id in bus_ids if to_number(bus_id) not in there]
    if missing:
        raise UnavailableError(
            f"GPU {missing[0]} is not in this host's topology: is NVML installed (`railgauge topo show`), "
            f"or does NCCL_TOPO_FILE describe another machine?"
        )
    return with_gpus(topology, [there[to_number(bus_id)] for bus_id in bus_ids])


def gpu_links(system: System, environ: Mapping[str, str]) -> GpuLinks:
    """The same for the System's ranks; nothing if these are not GPUs."""
    gpus = [rank for rank in system.ranks if rank.kind is NodeKind.GPU]
    levels = read_levels(environ)
    found = paths(system, levels=levels)
    alone = paths(system, levels=replace(levels, pxn=False))  # no GPU relays for another here
    pairs = [[(a.id, b.id) for b in gpus] for a in gpus]
    return GpuLinks(
        p2p=[[a == b or found.peer_access(a, b).allowed for a, b in row] for row in pairs],
        gb_per_s=[[found.get(a, b).gb_per_s for a, b in row] for row in pairs],
        nvlink=bool(gpus) and all(a == b or found.wired(a, b).type == NVLINK for row in pairs for a, b in row),
        nics=[found.local_nets(gpu)[0] for gpu in gpus] if system.nets else [],
        direct=[[_direct(alone, gpu, net, flush=read_flush(environ)) for net in system.nets] for gpu in gpus],
    )


def _direct(found: Paths, gpu: Node, net: Node, *, flush: bool | None) -> Direct:
    sends, receives = (found.gpu_direct(gpu.id, net.id, sending=sending).on for sending in (True, False))
    return Direct(dev_number(net), sends, receives, found.needs_flush(gpu.id, net.id) if flush is None else flush)


def near_cpus(system: System) -> list[Node]:
    """By rank the CPU that its GPU is nearest to."""
    found = paths(system)
    cpus = [node for node in system.nodes if node.kind is NodeKind.CPU]
    return [min(cpus, key=lambda cpu: found.get(gpu.id, cpu.id).hops) for gpu in system.ranks]
