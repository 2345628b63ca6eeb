# SPDX-License-Identifier: Apache-2.0
"""What the ranks of channels stand for, where it is not plain: GPUs of other numbers, or a part of the machine."""

from collections.abc import Iterator

from railgauge.topo.channels.graph import Graph
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.graph.model import NodeKind, System


def rank_lines(system: System, graph: Graph) -> list[str]:
    """A line for ranks that are not the GPUs' numbers, and one for GPUs that are in no channel."""
    return [*numbered_otherwise(system), *_left_out(system, graph)]


def numbered_otherwise(system: System) -> Iterator[str]:
    """Which GPU each rank is, where one has another number."""
    if any(node.kind is NodeKind.GPU and node.dev != node.rank for node in system.ranks):
        yield "ranks: " + ", ".join(f"{node.rank} is {names_of(node)[0]}" for node in system.ranks)


def _left_out(system: System, graph: Graph) -> Iterator[str]:
    """NCCL cut the node (`ncclTopoTrimSystem`): its GPUs reach some others over the network alone."""
    here = {rank for channel in graph.channels for rank in channel.ranks}
    rest = [names_of(node)[0] for node in system.ranks if node.rank not in here]
    if rest:
        yield (
            f"{len(here)} of {len(system.ranks)} GPUs: NCCL takes {' '.join(rest)} for another node, since the network "
            "is the better way to there"
        )
