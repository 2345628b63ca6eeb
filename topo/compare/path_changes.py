# SPDX-License-Identifier: Apache-2.0
"""Path types that differ between two machines although no device on the path does."""

from collections.abc import Iterator
from itertools import combinations

from railgauge.topo.compare.change import Change
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import Path, paths
from railgauge.topo.xml.topology import Topology

ENDS = (NodeKind.GPU, NodeKind.NET)


def path_changes(before: Topology, after: Topology, touched: frozenset[str]) -> Iterator[Change]:
    """The pairs of GPUs and NICs on both sides whose path has another type; `touched` are subjects of other changes.

    A pair is left out if one of those is on its path, before or after.
    """
    old, new = _Side(before), _Side(after)
    for a, b in combinations([label for label in old.ends if label in new.ends], 2):
        was, now = old.path(a, b), new.path(a, b)
        if was.type != now.type and not touched & (old.subjects(a, was) | new.subjects(a, now)):
            pair = f"{a} - {b}"
            message = f"{pair}: {was.type} -> {now.type}"
            yield Change(subject=pair, what="path type", before=was.type, after=now.type, message=message)


class _Side:
    """The paths of one machine, with its GPUs and NICs by name."""

    def __init__(self, topology: Topology) -> None:
        self.system: System = build_system(topology)
        self.ends = {_label(node): node for node in self.system.nodes if node.kind in ENDS}
        self._paths = paths(self.system)

    def path(self, a: str, b: str) -> Path:
        """The path between two labels."""
        return self._paths.get(self.ends[a].id, self.ends[b].id)

    def subjects(self, start: str, path: Path) -> set[str]:
        """The subjects that a Change uses for the devices on a path."""
        nodes = [self.ends[start], *(self.system.node(node) for node in path.via)]
        return {subject for node in nodes for subject in _subjects(node)}


def _label(node: Node) -> str:
    return f"GPU{node.dev}" if node.kind == NodeKind.GPU else node.name or node.id


def _subjects(node: Node) -> Iterator[str]:
    if node.bus_id:
        yield node.bus_id
    if node.kind == NodeKind.CPU:
        yield f"NUMA node {node.numa}"
    if node.kind == NodeKind.NET:
        yield from (f"{node.name} port {node.port}", f"interface {node.name}", "GPUDirect RDMA")
