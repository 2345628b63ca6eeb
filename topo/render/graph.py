# SPDX-License-Identifier: Apache-2.0
"""Graphs (railgauge/graph/1): the total, each different channel with how often it is there, what their ranks stand for,
and how full they make each link.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from railgauge.topo.channels.graph import Bound, Graph, Graphs, products
from railgauge.topo.channels.load import LinkLoad, alike, ends_of
from railgauge.topo.nccl.graph.ends import named, names_of
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, NodeKind, System
from railgauge.topo.values.spans import spans

OPTIMAL = 1e-3  # closer to the bound than speeds are rounded


NO_NAMES: Mapping[str, str] = MappingProxyType({})


def graph_lines(name: str, graph: Graph, nodes: int, names: Mapping[str, str] = NO_NAMES) -> list[str]:
    """The total, then each different channel with how often it is there. `names`: of devices, by NCCL's id."""
    total, count = graph.total(nodes), len(graph.channels)
    if nodes == 1 and all(len(channel.ranks) == 1 for channel in graph.channels):
        return [f"{name}: one rank alone has nothing to send"]
    types = graph.type_intra if nodes == 1 else f"{graph.type_intra}/{graph.type_inter}"
    lines = [f"{name}: {products(count, total)}, {types}"]
    if graph.bound:
        lines.append(
            f"  {_within(total, graph.bound)}: at most {graph.bound.gb_per_s:g} GB/s by {named(graph.bound.why, names)}"
        )
    if graph.slow:
        lines.append(f"  runs at {graph.real_total(nodes):.4g} GB/s: {named(graph.slow, names)}")
    if graph.difference:
        lines.append(f"  {named(graph.difference, names)}")
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


def rank_lines(system: System, graph: Graph) -> list[str]:
    """A line for ranks that are not the GPUs' numbers, and one for GPUs that are in no channel."""
    return [*numbered_otherwise(system), *_left_out(system, graph)]


def numbered_otherwise(system: System) -> Iterator[str]:
    """The GPU of each rank whose number differs."""
    if any(node.kind is NodeKind.GPU and node.dev != node.rank for node in system.ranks):
        yield "ranks: " + ", ".join(f"{node.rank} is {names_of(node)[0]}" for node in system.ranks)


def _left_out(system: System, graph: Graph) -> Iterator[str]:
    """NCCL cut the node (`ncclTopoTrimSystem`): its GPUs reach some others over the network alone."""
    here = {rank for channel in graph.channels for rank in channel.ranks}
    rest = [names_of(node)[0] for node in system.ranks if node.rank not in here]
    if rest:
        yield (
            f"{len(here)} of {len(system.ranks)} GPUs: NCCL splits the node: {' '.join(rest)} form another one, "
            "because the network path to them is faster"
        )


MOST_LINES = 8


def load_lines(loads: Sequence[LinkLoad], names: Mapping[str, str] = NO_NAMES) -> list[str]:
    """The lines of a graph's loads, fullest first; what NCCL's model does not limit is left out.

    `names`: as for `graph_lines`.
    """
    fullest = sorted(loads, key=lambda load: -load.real_share)
    limited = (load for load in fullest if load.link.gb_per_s < LOCAL_GB_PER_S)
    lines = [named(_load(group), names) for group in alike(limited)]
    rest = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"  and {rest} more kinds of links, less loaded"] if rest > 0 else [])


def _load(group: Sequence[LinkLoad]) -> str:
    first = group[0]
    now = f" now, {first.link.gb_per_s:.4g} planned" if first.link.now else ""
    return (
        f"  {first.real_share:4.0%}  {first.gb_per_s:.4g} of {first.link.real_gb_per_s:.4g} GB/s{now}  {ends_of(group)}"
    )


def graph_records(graphs: Graphs) -> dict[str, Any]:
    """The `graphs` of a railgauge/graph/1 document."""
    return {"ring": _record(graphs.ring), "tree": _record(graphs.tree)}


def _record(graph: Graph) -> dict[str, Any]:
    return {
        "pattern": graph.pattern,
        "cross_nic": graph.cross_nic,
        "same_channels": graph.same_channels,
        "type_intra": graph.type_intra,
        "type_inter": graph.type_inter,
        "latency_inter": graph.latency_inter,
        "gb_per_s_intra": graph.gb_per_s_intra,
        "gb_per_s_inter": graph.gb_per_s_inter,
        "search_ms": graph.search_ms,
        "bound_gb_per_s": graph.bound.gb_per_s if graph.bound else None,
        "bound_why": graph.bound.why if graph.bound else None,
        "bound_weights": [list(weight) for weight in graph.bound.weights] if graph.bound else None,
        "difference": graph.difference,
        "running_share": round(graph.running, 4),
        "running_why": graph.slow or None,
        "channels": [{"ranks": list(channel.ranks), "nets": list(channel.nets)} for channel in graph.channels],
    }
