# SPDX-License-Identifier: Apache-2.0
"""The ranks of a node that NCCL plans together, and whether their channels leave them by NICs."""

from dataclasses import dataclass

from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.paths.paths import Paths


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGroup:
    """`ranks` in the System's order, on the paths of `table`.

    `leaves`: channels enter and leave by NICs, as one of several nodes or as a part of a node that NCCL split
    (`ncclTopoTrimSystem`, src/graph/topo.cc).
    """

    system: System
    table: Paths
    ranks: tuple[Node, ...]
    leaves: bool


def group_of(system: System, table: Paths, nodes: int) -> RankGroup:
    """The group of one of `nodes` equal nodes; UnavailableError for a System without ranks."""
    if not system.ranks:
        raise UnavailableError(
            "no GPU to plan for: name the machine with --from, or plan ranks in host memory: --ranks N --device cpu"
        )
    host = system.ranks[0].kind is NodeKind.HOST
    ranks = system.ranks if host else tuple(gpu for gpu in system.gpus if gpu.id in table.kept)
    return RankGroup(system=system, table=table, ranks=ranks, leaves=nodes > 1 or len(ranks) < len(system.ranks))
