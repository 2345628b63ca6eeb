# SPDX-License-Identifier: Apache-2.0
"""The affinity of a machine's GPUs: which of them share NICs and NUMA nodes, and which subsets are equivalent."""

from collections.abc import Hashable

from railgauge.topo.nccl.graph.model import PATH_TYPES, Node, NodeKind, System
from railgauge.topo.nccl.paths.paths import Paths


class GpuAffinity:
    """Relations between the GPUs of a System; a subset is a bit mask by position in `system.gpus`."""

    def __init__(self, system: System, table: Paths) -> None:
        self._table = table
        self._nets = system.nets
        self._cpus = system.kind(NodeKind.CPU)
        self._near = {gpu.id: self._nearest(gpu) for gpu in system.gpus}
        self._home = {gpu.id: self._cpu(gpu) for gpu in system.gpus}
        gpus = system.gpus
        self._own = [self._profile(gpu) for gpu in gpus]
        relations = [[self._relation(a, b) for b in gpus] for a in gpus]
        classes = {relation for row in relations for relation in row}
        self._by_class = [
            [sum(1 << j for j, relation in enumerate(row) if relation == one) for one in classes] for row in relations
        ]
        self._sharing = [
            sum(1 << j for j, other in enumerate(gpus) if other is not gpu and self._share(gpu, other)) for gpu in gpus
        ]

    def net_type(self, gpu: Node) -> str | None:
        """The type of the path to the nearest NIC; None without NICs."""
        nearest = self._near[gpu.id]
        return self._table.get(gpu.id, min(nearest)).type if nearest else None

    def net_gb_per_s(self, gpu: Node) -> float:
        """What the paths to the nearest NICs run at together."""
        return sum(self._table.get(gpu.id, net).real_gb_per_s for net in self._near[gpu.id])

    def shared(self, subset: int) -> int:
        """How many pairs of a member and another GPU share a NIC or a NUMA node."""
        members = (row for i, row in enumerate(self._sharing) if subset >> i & 1)
        return sum((row & ~subset).bit_count() for row in members)

    def kind(self, subset: int, free: int) -> Hashable:
        """A key that is equal for equivalent subsets.

        Made of each free GPU's profile, whether it is in the subset, and its number of relations of each class inside
        and outside. That distinguishes subsets of trees, switches and meshes of servers; it is no proof for any graph.
        """
        rest = free & ~subset
        return tuple(
            sorted(
                (
                    subset >> i & 1,
                    self._own[i],
                    *((of & subset).bit_count() for of in row),
                    *((of & rest).bit_count() for of in row),
                )
                for i, row in enumerate(self._by_class)
                if free >> i & 1
            )
        )

    def _nearest(self, gpu: Node) -> frozenset[str]:
        """The NICs at the nearest type, of those with the most bandwidth."""
        reached = {net.id: self._table.get(gpu.id, net.id) for net in self._nets}
        keys = {net: (PATH_TYPES.index(path.type), -path.gb_per_s) for net, path in reached.items()}
        return frozenset(net for net, key in keys.items() if key == min(keys.values()))

    def _cpu(self, gpu: Node) -> str | None:
        reached = ((self._table.get(gpu.id, cpu.id).hops, cpu.id) for cpu in self._cpus)
        return min((pair for pair in reached if pair[0]), default=(0, None))[1]

    def _share(self, one: Node, other: Node) -> bool:
        home = self._home[one.id]
        return bool(self._near[one.id] & self._near[other.id]) or (home is not None and home == self._home[other.id])

    def _profile(self, gpu: Node) -> tuple[object, ...]:
        nets = sorted(
            (path.type, path.gb_per_s, path.real_gb_per_s)
            for path in (self._table.get(gpu.id, n.id) for n in self._nets)
        )
        return (gpu.sm or 0, *nets)

    def _relation(self, a: Node, b: Node) -> Hashable:
        out, back = self._table.get(a.id, b.id), self._table.get(b.id, a.id)
        common = len(self._near[a.id] & self._near[b.id])
        both = (out.type, out.gb_per_s, out.real_gb_per_s, back.type, back.gb_per_s, back.real_gb_per_s)
        return a is b, *both, common, self._home[a.id] == self._home[b.id]
