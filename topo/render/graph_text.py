# SPDX-License-Identifier: Apache-2.0
"""Graphs as text: the total, then each different channel with how often it is there."""

from railgauge.topo.channels.graph import Bound, Graph, products
from railgauge.topo.values.spans import spans

OPTIMAL = 1e-3  # closer to the bound than speeds are rounded


def graph_lines(name: str, graph: Graph, nodes: int) -> list[str]:
    """The total, then each different channel with how often it is there."""
    total, count = graph.total(nodes), len(graph.channels)
    if nodes == 1 and all(len(channel.ranks) == 1 for channel in graph.channels):
        return [f"{name}: one rank alone has nothing to send"]
    types = graph.type_intra if nodes == 1 else f"{graph.type_intra}/{graph.type_inter}"
    lines = [f"{name}: {products(count, total)}, {types}"]
    if graph.bound:
        lines.append(f"  {_within(total, graph.bound)}: at most {graph.bound.gb_per_s:g} GB/s by {graph.bound.why}")
    if graph.difference:
        lines.append(f"  {graph.difference}")
    numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, channel in enumerate(graph.channels):
        numbers.setdefault((channel.ranks, channel.nets), []).append(number)
    for (ranks, nets), which in numbers.items():
        through = f"  NIC {nets[0]} in, {nets[-1]} out" if nets else ""
        lines.append(f"  {spans('channel', which)}: {' '.join(map(str, ranks))}{through}")
    return lines


def _within(total: float, bound: Bound) -> str:
    """How far the answer is from what no channels exceed."""
    gap = 1 - total / bound.gb_per_s
    return "optimal" if gap <= OPTIMAL else f"within {gap:.1%} of the bound"
