# SPDX-License-Identifier: Apache-2.0
"""The throughput of trees: NCCL's search counts the way up alone, but all data comes down again by the links back."""

from collections import Counter
from itertools import pairwise

from railgauge.topo.channels.graph import Graph
from railgauge.topo.channels.wiring import Wiring


def passes(wiring: Wiring, tree: Graph, nodes: int) -> float:
    """GB/s of a tree's channels together, up and down: the plan's total, or what the links between the GPUs pass.

    They differ where a link runs slower in one direction.
    """
    numbers = {node.rank or 0: number for number, node in enumerate(wiring.ranks)}
    each = 0.5 / len(tree.channels)
    load: Counter[int] = Counter()
    for channel in tree.channels:
        for a, b in pairwise(numbers[rank] for rank in channel.ranks):
            for step in (wiring.step(a, b), wiring.step(b, a)):
                load.update({hop[0]: 1 for hop in step[3]})
    full = max((each * count / wiring.links[link].gb_per_s for link, count in load.items()), default=0.0)
    return min(tree.total(nodes), 1 / full if full else float("inf"))
