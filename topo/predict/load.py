# SPDX-License-Identifier: Apache-2.0
"""The load of a node's links by its channels, and by messages in pairs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.load import Step, carried, steps
from railgauge.topo.nccl.graph.model import Link
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.topo.predict.plan import NodePlan

ALIKE = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullest:
    """The most loaded links (`links`, all equal), and their load as a share of what they run at."""

    links: tuple[Link, ...]
    share: float

    @property
    def gb_per_s(self) -> float:
        """The GB/s that they pass of traffic with load `share` per GB/s."""
        return 1 / self.share if self.share else float("inf")


def of_channels(plan: NodePlan, algorithm: Algorithm) -> Fullest:
    """The fullest links of a node if all channels together pass 1 GB/s, evenly.

    A ring passes it once. A tree sends all reduced data up and down again, half each: its edges carry both directions.
    """
    return of_steps(plan, _tree_steps(plan) if algorithm is Algorithm.TREE else _ring_steps(plan))


def of_steps(plan: NodePlan, found: Iterable[Step]) -> Fullest:
    """The fullest links of a node under some steps."""
    loads = carried(plan.system, plan.table, found)
    return fullest_of([(load.link, load.real_share if plan.real else load.share) for load in loads])


def _ring_steps(plan: NodePlan) -> Iterator[Step]:
    each = 1 / len(plan.graphs.ring.channels)
    return _steps(plan, Algorithm.RING, within=each, between=each)


def _tree_steps(plan: NodePlan) -> Iterator[Step]:
    """Both trees of each channel. Of two nodes, each has a parent in one and a child in the other; of more, a node has
    a parent in both and two children in one (`ncclGetDtree`, src/graph/trees.cc).
    """
    each = 0.5 / len(plan.graphs.tree.channels)
    for step in _steps(plan, Algorithm.TREE, within=each, between=each / 2 if plan.parts <= 2 else each):
        yield step
        yield replace(step, source=step.target, target=step.source)


def _steps(plan: NodePlan, algorithm: Algorithm, *, within: float, between: float) -> Iterator[Step]:
    graph = replace(plan.graph(algorithm), gb_per_s_intra=within, gb_per_s_inter=between)
    group = group_of(plan.system, plan.table, plan.nodes)
    return (step for channel in graph.channels for step in steps(group, graph, channel))


def fullest_of(found: list[tuple[Link, float]]) -> Fullest:
    """The fullest of some links, each with its load as a share of what it passes."""
    most = max((share for _, share in found), default=0.0)
    return Fullest(links=tuple(link for link, share in found if share >= most * ALIKE), share=most)
