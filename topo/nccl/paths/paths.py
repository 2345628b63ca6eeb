# SPDX-License-Identifier: Apache-2.0
"""Paths between the ends of a System: type, hops, bandwidth and the nodes on the way, as NCCL 2.30 computes them.

path_search.py finds the plain routes, reroute.py changes those that NCCL does not use as they are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from railgauge.topo.nccl.graph.model import PATH_TYPES, Link, Node, NodeKind, System
from railgauge.topo.nccl.paths.gpudirect import GpuDirect, gpu_direct, needs_flush
from railgauge.topo.nccl.paths.local import local_gpu, local_nets
from railgauge.topo.nccl.paths.path_search import Route
from railgauge.topo.nccl.paths.peer_access import PeerAccess, PeerRules, peer_rules
from railgauge.topo.nccl.paths.reroute import compute, kept_gpus, without
from railgauge.topo.nccl.paths.route_table import RouteTable
from railgauge.topo.nccl.settings.levels import UNLIMITED, Levels

FROM = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET)
TO = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET, NodeKind.CPU, NodeKind.NVS)
NO_LEVELS = Levels()


class Path(NamedTuple):
    """One path: `type` of PATH_TYPES, `via` the ids passed after the start (the end included), `links` those taken.

    `gb_per_s` is what NCCL plans with.
    """

    type: str
    hops: int
    gb_per_s: float
    via: tuple[str, ...]
    links: tuple[Link, ...]

    @property
    def real_gb_per_s(self) -> float:
        """The same by what its links run at."""
        return min([self.gb_per_s, *(link.real_gb_per_s for link in self.links)])


class Paths:
    """All paths of a System. `kept` holds the GPUs NCCL keeps together.

    They are fewer than all if the network is faster than the links; NCCL then computes their paths again.
    """

    def __init__(self, system: System, parts: tuple[tuple[RouteTable, PeerRules], ...], levels: Levels) -> None:
        self.kept = tuple(gpu.id for gpu in parts[0][0].gpus)
        self._system = system
        self._parts = parts
        self._levels = levels
        self._made: dict[tuple[str, str], Path] = {}

    def get(self, a: str, b: str) -> Path:
        """The path between two ids; type DIS with 0 hops and 0 GB/s if there is none."""
        if (a, b) not in self._made:
            self._made[a, b] = _path(self._part(a, b)[0].find(a, b))
        return self._made[a, b]

    def wired(self, a: str, b: str) -> Path:
        """The path by the physical links, before NCCL's changes; KeyError for unknown ids."""
        return _path(self._part(a, b)[0].wired(self._system.node(a), self._system.node(b)))

    def peer_access(self, a: str, b: str) -> PeerAccess:
        """Whether NCCL uses P2P between two GPUs; KeyError for unknown ids."""
        table, rules = self._part(a, b)
        return rules.access(table, self._system.node(a), self._system.node(b))

    def gpu_direct(self, gpu: str, net: str, *, sending: bool) -> GpuDirect:
        """Whether NCCL uses GPUDirect RDMA between a GPU and a NIC; KeyError for unknown ids."""
        table = self._part(gpu, net)[0]
        return gpu_direct(table, self._system.node(gpu), self._system.node(net), self._levels, sending=sending)

    def needs_flush(self, gpu: str, net: str) -> bool:
        """Whether data that a NIC wrote into a GPU has to be flushed; KeyError for unknown ids."""
        return needs_flush(self._part(gpu, net)[0], self._system.node(gpu), self._system.node(net))

    def local_nets(self, gpu: Node) -> list[Node]:
        """The NICs that a GPU uses, by channel, repeating."""
        return local_nets(self._part(gpu.id, gpu.id)[0], gpu, self._levels.nets_per_gpu)

    def local_gpu(self, net: Node) -> Node | None:
        """The first kept GPU of a NIC."""
        return local_gpu(self._parts[0][0], net, self._levels.nets_per_gpu)

    def near_gpus(self, net: Node) -> list[Node]:
        """The kept GPUs nearest to a NIC."""
        return self._parts[0][0].nearest(net, NodeKind.GPU)

    @property
    def most_nets(self) -> int:
        """How many NICs a GPU may use under NCCL_NETDEVS_POLICY=MAX:n; 0 without such a limit."""
        most = self._levels.nets_per_gpu
        return 0 if most is None or most >= UNLIMITED else most

    def between_cards(self) -> float:
        """GB/s of the fastest route from a GPU's card to another's; 0 for fewer than two."""
        return self._parts[0][0].between_cards()

    def __iter__(self) -> Iterator[tuple[str, str, Path]]:
        """All (from, to, path) from GPU, HOST and NET to GPU, HOST, NET, CPU and NVS."""
        nodes = self._system.nodes
        ends = [node.id for node in sorted((n for n in nodes if n.kind in TO), key=lambda node: TO.index(node.kind))]
        return ((a.id, b, self.get(a.id, b)) for a in nodes if a.kind in FROM for b in ends)

    def _part(self, a: str, b: str) -> tuple[RouteTable, PeerRules]:
        return next((part for part in self._parts if a in part[0] and b in part[0]), self._parts[-1])


def paths(
    system: System, *, p2p: bool = True, levels: Levels = NO_LEVELS, denied: frozenset[tuple[str, str]] = frozenset()
) -> Paths:
    """All paths under the settings in `levels`. `denied`: pairs of GPU ids without peer access by the driver.

    `p2p` False denies it to all of them.
    """
    denied = denied if p2p else frozenset((a.id, b.id) for a in system.gpus for b in system.gpus)
    parts = [compute(system, levels, denied)]
    kept = kept_gpus(parts[0][0])
    if len(kept) < len(system.gpus):
        parts.insert(0, compute(without(system, kept), levels, denied))
    return Paths(system, tuple(parts), levels)


def plain_paths(system: System) -> Paths:
    """All paths by the physical links, before NCCL's changes, as in `nvidia-smi topo -m`."""
    table = RouteTable(system, nvb=NO_LEVELS.nvb)
    return Paths(system, ((table, peer_rules(table, NO_LEVELS, frozenset())),), NO_LEVELS)


def _path(route: Route) -> Path:
    links = route.links
    return Path(
        type=PATH_TYPES[route.kind],
        hops=route.hops,
        gb_per_s=route.gb_per_s,
        via=tuple(link.target for link in links),
        links=links,
    )
