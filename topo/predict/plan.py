# SPDX-License-Identifier: Apache-2.0
"""The input of a prediction: the planned channels, and the number and kind of ranks and nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from railgauge.topo.channels.graph import TREE, Graph, Graphs
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.paths.paths import Paths
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.fabric import ONE_SWITCH, Fabric
from railgauge.topo.predict.release import NEWEST, Release

DEFAULTS = Steering()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """Equal nodes, each with the System and the graphs; `table` has the paths that the graphs were searched on.

    `steering`: the settings in force, which bound the channels that run. `per_thread`: how many GPUs one thread drives,
    with one launch after the other (nccl-tests' -g). `real`: links at what they run at, not as NCCL plans. `release` of
    NCCL; `datatype` and `redop` by nccl-tests' names: NVLS depends on them. `domain`: how many machines are one node
    for NCCL, by an NVLink domain (nvlink_domain.py); the System has them all. `symmetric`: whether the buffers are in
    symmetric windows (symmetric.py). `far`: the NICs that carry the data in place of those planned, by id (crossed.py).
    """

    system: System
    table: Paths
    graphs: Graphs
    nodes: int
    steering: Steering = DEFAULTS
    fabric: Fabric = ONE_SWITCH
    per_thread: int = 1
    real: bool = True
    release: Release = NEWEST
    datatype: str = "float"
    redop: str = "sum"
    domain: int = 1
    symmetric: bool = False
    far: Mapping[str, Node] = field(default_factory=dict)

    @property
    def per_node(self) -> int:
        """Ranks of one node."""
        return len(self.system.ranks)

    @property
    def ranks(self) -> int:
        """Ranks of all nodes."""
        return self.per_node * self.nodes

    @property
    def machines(self) -> int:
        """Nodes as an operator counts them."""
        return self.nodes * self.domain

    @property
    def parts(self) -> int:
        """Number of nodes; if NCCL splits a node (`Group.leaves`), the number of parts."""
        return self.nodes * max(1, self.per_node // len(self.graphs.ring.channels[0].ranks))

    @property
    def leaves(self) -> bool:
        """Whether channels leave a node, or its part, by NICs."""
        return any(channel.nets for channel in self.graphs.ring.channels)

    @property
    def sms(self) -> tuple[int, int]:
        """The lowest and highest compute capability; 0 for host ranks."""
        known = [node.sm or 0 for node in self.system.ranks]
        return min(known), max(known)

    @property
    def on_host(self) -> bool:
        """Whether the ranks are on host memory."""
        return self.system.ranks[0].kind is NodeKind.HOST

    @property
    def cpu_vendor(self) -> str:
        """The vendor of the first CPU, "" when unknown."""
        return next((cpu.vendor or "" for cpu in self.system.kind(NodeKind.CPU)), "")

    @property
    def cpu_arch(self) -> str:
        """The architecture of the first CPU, "" when unknown."""
        return next((cpu.arch or "" for cpu in self.system.kind(NodeKind.CPU)), "")

    @property
    def linked(self) -> bool:
        """Whether NVLinks lead from each GPU of a node to each other."""
        return all(self.table.get(a.id, b.id).type == "NVL" for a, b in combinations(self.system.ranks, 2))

    def graph(self, algorithm: Algorithm) -> Graph:
        """The channels of an algorithm."""
        return self.graphs.tree if algorithm is Algorithm.TREE else self.graphs.ring

    @property
    def nics(self) -> int:
        """How many NICs the channels use; at least 1."""
        return max(1, len({net for channel in self.graphs.ring.channels for net in channel.nets}))

    @property
    def nodes_per_leaf(self) -> int:
        """How many nodes have their NICs (of a rail) on one leaf."""
        return self.fabric.nodes_per_leaf(self.nics, self.nodes)

    @property
    def plain_tree(self) -> bool:
        """Whether one rank of a node has both the tree's children below it (NCCL_TOPO_PATTERN_TREE)."""
        return self.graphs.tree.pattern == TREE
