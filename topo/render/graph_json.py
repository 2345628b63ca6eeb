# SPDX-License-Identifier: Apache-2.0
"""Graphs as the `graphs` of a railgauge/graph/1 document."""

from typing import Any

from railgauge.topo.channels.graph import Graph, Graphs


def as_record(graphs: Graphs) -> dict[str, Any]:
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
        "channels": [{"ranks": list(channel.ranks), "nets": list(channel.nets)} for channel in graph.channels],
    }
