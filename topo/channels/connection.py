# SPDX-License-Identifier: Apache-2.0
"""Why a machine has no channel: the ranks that do not reach each other."""

from itertools import permutations, product

from railgauge.topo.channels.bounds import span
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.paths.path_search import DIS


def unconnected(wiring: Wiring) -> UnavailableError:
    """The error for a machine without a channel; names the groups of ranks, or the two ends, without a path."""
    apart = _apart(wiring)
    if apart is None:
        ends = (*wiring.ranks, *wiring.nets)
        pairs = product(range(len(wiring.ranks)), range(len(wiring.ranks), len(ends)))
        a, b = next((pair for pair in pairs if wiring.step(*pair)[0] == DIS), (0, len(ends) - 1))
        return UnavailableError(
            f"no path from {names_of(ends[a])[0]} to {names_of(ends[b])[0]}, so no ring over all ranks"
        )
    one, other = (_named([wiring.ranks[number] for number in group]) for group in apart)
    do = "does" if len(apart[0]) == 1 else "do"
    return UnavailableError(f"{one} {do} not reach {other}: no path, so no ring over all ranks")


def _named(ranks: list[Node]) -> str:
    what = "GPU" if ranks[0].kind is NodeKind.GPU else "rank"
    return f"{what}{'s' if len(ranks) > 1 else ''} {span(ranks)}"


def _apart(wiring: Wiring) -> tuple[set[int], set[int]] | None:
    """Two groups of ranks without a path between them; None if all are connected."""
    import networkx

    reach: networkx.DiGraph[int] = networkx.DiGraph()
    reach.add_nodes_from(range(len(wiring.ranks)))
    reach.add_edges_from(pair for pair in permutations(reach, 2) if wiring.step(*pair)[0] != DIS)
    groups = sorted(networkx.strongly_connected_components(reach), key=min)
    return next(
        ((a, b) for a, b in permutations(groups, 2) if not networkx.has_path(reach, min(a), min(b))),
        None,
    )
