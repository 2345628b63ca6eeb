# SPDX-License-Identifier: Apache-2.0
"""Why a machine has no channel: which of its ranks do not reach each other."""

from itertools import permutations, product

from railgauge.topo.channels.bounds import span
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.paths.path_search import DIS


def unconnected(wiring: Wiring) -> UnavailableError:
    """The error for a machine without any channel, naming the groups of ranks, or the two ends, without a path."""
    apart = _apart(wiring)
    if apart is None:
        ends = (*wiring.ranks, *wiring.nets)
        pairs = product(range(len(wiring.ranks)), range(len(wiring.ranks), len(ends)))
        a, b = next((pair for pair in pairs if wiring.step(*pair)[0] == DIS), (0, len(ends) - 1))
        return UnavailableError(f"there is no path from {ends[a].id} to {ends[b].id}, so no ring over all ranks")
    one, other = (_named([wiring.ranks[number] for number in group]) for group in apart)
    do = "does" if len(apart[0]) == 1 else "do"
    return UnavailableError(f"{one} {do} not reach {other}: there is no path, so no ring over all ranks")


def _named(ranks: list[Node]) -> str:
    what = "GPU" if ranks[0].kind is NodeKind.GPU else "rank"
    return f"{what}{'s' if len(ranks) > 1 else ''} {span(ranks)}"


def _apart(wiring: Wiring) -> tuple[set[int], set[int]] | None:
    """Two groups of ranks, all of the first reaching each other and none of the second; None where all are one."""
    import networkx

    reach: networkx.DiGraph[int] = networkx.DiGraph()
    reach.add_nodes_from(range(len(wiring.ranks)))
    reach.add_edges_from(pair for pair in permutations(reach, 2) if wiring.step(*pair)[0] != DIS)
    groups = sorted(networkx.strongly_connected_components(reach), key=min)
    return next(
        ((a, b) for a, b in permutations(groups, 2) if not networkx.has_path(reach, min(a), min(b))),
        None,
    )
