# SPDX-License-Identifier: Apache-2.0
"""The binding of each rank of a job: cores and memory next to its GPU, and its NICs.

The cores of a NUMA node are divided among all GPUs of the machine next to it, in the job or not: a GPU's cores are the
same in every job, and jobs never overlap. Only if a cpuset restricts a job to some of a node's cores are these divided
among its own GPUs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.channels.cores import Core, cores_of, logical_numbers, share
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.graph.subset import with_gpus
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.local import local_cpu, local_nets
from railgauge.topo.nccl.paths.reroute import compute
from railgauge.topo.nccl.paths.route_table import RouteTable
from railgauge.topo.nccl.settings.levels import Levels
from railgauge.topo.xml.topology import Topology

NO_SIBLINGS: Mapping[int, Core] = {}
NO_LEVELS = Levels()
UNPLACED = -1  # the numaid of devices without a NUMA node in the firmware


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A rank's GPU and its affinity. `cpus` ascend; `cpus`, `cores` and `numa` are empty if unknown.

    `cores`: the same by hwloc's logical number. `nets`: the NICs that NCCL uses for this GPU in this job.
    """

    rank: int
    gpu: Node
    cpus: tuple[int, ...]
    cores: tuple[int, ...]
    numa: int | None
    nets: tuple[Node, ...]


def bindings(
    topology: Topology,
    gpus: Sequence[Node],
    *,
    siblings: Mapping[int, Core] = NO_SIBLINGS,
    levels: Levels = NO_LEVELS,
    denied: frozenset[tuple[str, str]] = frozenset(),
) -> tuple[Binding, ...]:
    """The binding of each rank of a job on those GPUs, in their order.

    `siblings`: the threads of each CPU's core where known (sysfs_threads.py). Cores outside `topology.allowed` are left
    out.
    """
    system = build_system(topology)
    job = build_system(with_gpus(topology, gpus))
    routes = compute(job, levels, denied)[0]
    placements = _placements(system, compute(system, levels, denied)[0], gpus, siblings, topology.allowed)
    numbers = logical_numbers([cores_of(cpus, siblings) for cpus in _numa_nodes(system, topology)])
    return tuple(
        _binding(
            rank,
            gpu,
            placements[gpu.id],
            numbers,
            topology.allowed,
            local_nets(routes, job.ranks[rank], levels.nets_per_gpu),
        )
        for rank, gpu in enumerate(gpus)
    )


def _binding(
    rank: int,
    gpu: Node,
    placement: tuple[int | None, tuple[Core, ...]],
    numbers: Mapping[Core, int],
    allowed: frozenset[int] | None,
    nets: Sequence[Node],
) -> Binding:
    numa, cores = placement
    threads = (thread for core in cores for thread in core)
    return Binding(
        rank=rank,
        gpu=gpu,
        cpus=tuple(sorted(thread for thread in threads if allowed is None or thread in allowed)),
        cores=tuple(sorted(numbers[core] for core in cores)),
        numa=numa if cores and numa != UNPLACED else None,
        nets=tuple(dict.fromkeys(nets)),
    )


def _placements(
    system: System,
    table: RouteTable,
    job: Sequence[Node],
    siblings: Mapping[int, Core],
    allowed: frozenset[int] | None,
) -> dict[str, tuple[int | None, tuple[Core, ...]]]:
    """The NUMA node and the cores of each GPU of a job: an equal share of the node's cores."""
    homes = {gpu.id: local_cpu(table, gpu) for gpu in system.gpus}
    sets = {key: cpu.cpus if cpu else () for key, cpu in homes.items()}
    ours = {gpu.id for gpu in job}
    placements = {}
    for gpu in job:
        cpus, home = sets[gpu.id], homes[gpu.id]
        whole = allowed is None or allowed.issuperset(cpus)
        together = [key for key in sets if sets[key] == cpus and (whole or key in ours)]
        cores = [core for core in cores_of(cpus, siblings) if allowed is None or allowed.intersection(core)]
        placements[gpu.id] = (home.numa if home else None, share(cores, together.index(gpu.id), len(together)))
    return placements


def _numa_nodes(system: System, topology: Topology) -> set[tuple[int, ...]]:
    """The CPUs of each NUMA node with CPUs."""
    listed = {node.cpus for node in topology.numa} or {cpu.cpus for cpu in system.kind(NodeKind.CPU)}
    return {cpus for cpus in listed | {cpu.cpus for cpu in system.kind(NodeKind.CPU)} if cpus}
