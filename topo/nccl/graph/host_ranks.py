# SPDX-License-Identifier: Apache-2.0
"""Ranks on host memory in the same System: HOST nodes on cores, a MEM node per NUMA node, CPU interconnect between
those.

    HOST/0-r --(its cores' copy speed)-- MEM/0-n --(memory speed)-- CPU/0-n --SYS-- CPU/0-m ...

The copy speed of a core and the memory speed are planning figures; `link` and `run` measure.
"""

from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.graph.figures import Figure, between_cpus
from railgauge.topo.nccl.graph.model import LinkKind, NodeKind, System
from railgauge.topo.nccl.graph.system_builder import SystemBuilder
from railgauge.topo.values.numa_node import NumaNode

CORE_GB_PER_S = 6.0  # one core copying through shared memory and reducing: about half of what a plain memcpy reaches
MEMORY_PER_CORE_GB_PER_S = 4.0  # a NUMA node without HMAT figures: memory bandwidth of servers per core
MEMORY_LEAST_GB_PER_S = 20.0  # ... but no less than one DDR4-2666 channel
CHANNELS_OF_RANK = 8  # more rings than this on one host rank only share the same memory
MAX_RANKS = 256


class _Place(NamedTuple):
    """A NUMA node of the first host: its CPU node, its cores, and its memory's speed (None: unknown)."""

    cpu: str
    cores: tuple[int, ...]
    known_gb_per_s: float | None

    @property
    def gb_per_s(self) -> float:
        """The memory's speed, by its cores where it is unknown."""
        by_cores = max(MEMORY_LEAST_GB_PER_S, MEMORY_PER_CORE_GB_PER_S * len(self.cores))
        return by_cores if self.known_gb_per_s is None else self.known_gb_per_s


def add_host_ranks(
    builder: SystemBuilder, numa: tuple[NumaNode, ...], count: int, allowed: frozenset[int] | None = None
) -> System:
    """The System with `count` host ranks, on the `allowed` cores; UsageError unless 1 <= count <= 256."""
    if not 1 <= count <= MAX_RANKS:
        raise UsageError(f"--ranks {count}: expected 1 to {MAX_RANKS} host ranks")
    places = [_narrowed(place, allowed) for place in _places(builder, numa)]
    ranks: list[str] = []
    for place, share in zip(places, shares(count, [len(place.cores) for place in places]), strict=True):
        ranks += _place_ranks(builder, place, share, len(ranks))
    return builder.build(tuple(ranks))


def _narrowed(place: _Place, allowed: frozenset[int] | None) -> _Place:
    return place if allowed is None else place._replace(cores=tuple(core for core in place.cores if core in allowed))


def shares(count: int, cores: list[int]) -> list[int]:
    """How many of `count` ranks each NUMA node gets: in proportion to its cores, the largest remainders first."""
    weights = cores if sum(cores) else [1] * len(cores)
    total = sum(weights)
    taken = [count * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(count * weights[i] % total), i))
    for i in by_remainder[: count - sum(taken)]:
        taken[i] += 1
    return taken


def _places(builder: SystemBuilder, numa: tuple[NumaNode, ...]) -> list[_Place]:
    """The NUMA nodes of the first host, by number."""
    facts = {node.id: node for node in numa}
    cpus = [builder.node(key) for key in builder.of_kind(NodeKind.CPU) if builder.node(key).system == 0]
    if any(cpu.numa == -1 and not cpu.cpus for cpu in cpus):
        everything = tuple(sorted(core for node in numa for core in node.cpus))
        unplaced = next(cpu for cpu in cpus if cpu.numa == -1)
        placed = [cpu for cpu in cpus if cpu.cpus]
        if not placed:
            return [_Place(cpu=unplaced.id, cores=everything, known_gb_per_s=_memory(facts, -1))]
        cpus = placed
    places = {cpu.numa or 0: (cpu.id, cpu.cpus or _cores(facts, cpu.numa)) for cpu in cpus}
    for node in numa:
        if node.id not in places:
            places[node.id] = (_new_cpu(builder, node, cpus[0].id), node.cpus)
    return [
        _Place(cpu=key, cores=cores, known_gb_per_s=_memory(facts, number))
        for number, (key, cores) in sorted(places.items())
    ]


def _cores(facts: dict[int, NumaNode], number: int | None) -> tuple[int, ...]:
    return facts[number].cpus if number in facts else ()


def _memory(facts: dict[int, NumaNode], number: int) -> float | None:
    return facts[number].read_gb_per_s if number in facts else None


def _new_cpu(builder: SystemBuilder, node: NumaNode, like: str) -> str:
    """A NUMA node without devices, which the XML leaves out, wired as its siblings are."""
    model = builder.node(like)
    known = next((wire.figure for wire in builder.links[like] if wire.kind is LinkKind.SYS), between_cpus(model))
    made = builder.add(
        NodeKind.CPU, 0, node.id, None, None, numa=node.id, arch=model.arch, vendor=model.vendor, device=model.device
    )
    for other in builder.of_kind(NodeKind.CPU):
        if other != made and builder.node(other).system == 0:
            builder.wire(made, other, LinkKind.SYS, known)
    return made


def _place_ranks(builder: SystemBuilder, place: _Place, count: int, first: int) -> list[str]:
    """Place `count` ranks on one NUMA node, numbered from `first`."""
    if count == 0:
        return []
    number = builder.node(place.cpu).numa or 0
    memory = builder.add(NodeKind.MEM, 0, number, None, None, numa=number)
    builder.wire(memory, place.cpu, LinkKind.MEM, _memory_figure(place))
    speed = rank_speed(len(place.cores) / count if place.cores else 1.0, place.gb_per_s / count)
    places = []
    for i in range(count):
        rank = first + i
        facts = {"cpus": cores_of(place.cores, count, i), "gdr": False}
        rank_node = builder.add(NodeKind.HOST, 0, rank, None, None, dev=rank, rank=rank, numa=number, **facts)
        builder.wire(
            rank_node, memory, LinkKind.MEM, Figure(speed, "copy speed of its cores (planning figure)", assumed=True)
        )
        places.append(rank_node)
    return places


def _memory_figure(place: _Place) -> Figure:
    if place.known_gb_per_s is None:
        return Figure(place.gb_per_s, f"memory of {len(place.cores)} cores (planning figure)", assumed=True)
    return Figure(place.gb_per_s, "read bandwidth reported by the firmware (HMAT)")


def rank_speed(cores: float, memory: float) -> float:
    """GB/s of one rank with so many cores (a fraction when shared) and that share of the memory's GB/s."""
    usable = min(int(cores), CHANNELS_OF_RANK) if cores >= 1 else cores
    return min(CORE_GB_PER_S * usable, memory)


def cores_of(cores: tuple[int, ...], count: int, i: int) -> tuple[int, ...]:
    """The cores of the i-th of `count` ranks: its own if there are enough, else all of the NUMA node."""
    if len(cores) < count:
        return cores
    each = len(cores) // count
    return cores[i * each : (i + 1) * each]
