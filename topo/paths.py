# SPDX-License-Identifier: Apache-2.0
"""Paths between the ends of a System: type, hops, bandwidth and the nodes on the way, as NCCL 2.30 computes them.

path_search.py finds the plain ways, reroute.py changes those that NCCL does not use as they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.local import Table
from railgauge.topo.model import PATH_TYPES, Link, NodeKind, System
from railgauge.topo.path_search import NOWHERE, Route
from railgauge.topo.reroute import compute, kept_gpus, plain

FROM = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET)
TO = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET, NodeKind.CPU, NodeKind.NVS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One path: `type` of PATH_TYPES, `via` the ids passed after the start (the end included), `links` those taken."""

    type: str
    hops: int
    gb_per_s: float
    via: tuple[str, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """All paths of a System. `kept` holds the GPUs NCCL keeps together.

    It differs from all where the network beats the wires.
    """

    table: dict[tuple[str, str], Path]
    pairs: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]

    def get(self, a: str, b: str) -> Path:
        """The path between two ids; type DIS with 0 hops and 0 GB/s where there is none."""
        return self.table.get((a, b)) or _path(NOWHERE)

    def __iter__(self) -> Iterator[tuple[str, str, Path]]:
        """All (from, to, path) from GPU, HOST and NET to GPU, HOST, NET, CPU and NVS."""
        return ((a, b, self.get(a, b)) for a, b in self.pairs)


def paths(system: System, *, p2p: bool = True) -> Paths:
    """All paths. `p2p` False: the driver reports no peer access between GPUs."""
    table = compute(system, system.gpus, p2p=p2p)
    kept = kept_gpus(system, table)
    if kept and len(kept) < len(system.gpus):
        table = table | compute(system, kept, p2p=p2p)
    return _collected(system, table, tuple(gpu.id for gpu in kept))


def plain_paths(system: System) -> Paths:
    """All paths as the wires are, before NCCL's changes: what `nvidia-smi topo -m` speaks of."""
    return _collected(system, plain(system), tuple(gpu.id for gpu in system.gpus))


def _collected(system: System, table: Table, kept: tuple[str, ...]) -> Paths:
    ends = sorted((n for n in system.nodes if n.kind in TO), key=lambda n: TO.index(n.kind))
    return Paths(
        table={key: _path(route) for key, route in table.items()},
        pairs=tuple((a.id, b.id) for a in system.nodes if a.kind in FROM for b in ends),
        kept=kept,
    )


def _path(route: Route) -> Path:
    return Path(
        type=PATH_TYPES[route.kind],
        hops=len(route.links),
        gb_per_s=route.gb_per_s,
        via=tuple(link.target for link in route.links),
        links=route.links,
    )
