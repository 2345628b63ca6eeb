# SPDX-License-Identifier: Apache-2.0
"""NVLS beside the graphs (`nvls` of railgauge/graph/1): the heads, and what no all-reduce by them exceeds."""

from collections.abc import Mapping
from typing import Any

from railgauge.topo.nccl.graph.ends import named
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.nvls_bound import nvls_found
from railgauge.topo.predict.nvls_graph import NvlsGraph
from railgauge.topo.predict.plan import NodePlan

DIGITS = 4


def nvls_lines(plan: NodePlan, names: Mapping[str, str]) -> list[str]:
    """Two lines; none where NCCL has no NVLS. `names`: of devices, by NCCL's id."""
    found = nvls_found(plan)
    if found is None:
        return []
    graph, bound = found
    busbw = bound.gb_per_s * Collective.ALL_REDUCE.factor(plan.ranks)
    return [
        f"{nvls_heads(plan, graph)}, with NVLink multicast",
        f"  all_reduce: at most {bound.gb_per_s:.4g} GB/s ({busbw:.4g} busbw) by {named(bound.why, names)}",
    ]


def nvls_heads(plan: NodePlan, graph: NvlsGraph) -> str:
    """The heads, and what each has within a node and between nodes."""
    between = f"/{graph.gb_per_s_inter:g}" if plan.nodes > 1 else ""
    return f"nvls: {graph.heads} heads x {graph.gb_per_s_intra:g}{between} GB/s"


def nvls_record(plan: NodePlan) -> dict[str, Any] | None:
    """The record; None where NCCL has no NVLS."""
    found = nvls_found(plan)
    if found is None:
        return None
    graph, bound = found
    return {
        "heads": graph.heads,
        "gb_per_s_intra": graph.gb_per_s_intra,
        "gb_per_s_inter": graph.gb_per_s_inter,
        "bound_gb_per_s": bound.gb_per_s,
        "bound_busbw_gb_per_s": round(bound.gb_per_s * Collective.ALL_REDUCE.factor(plan.ranks), DIGITS),
        "bound_why": bound.why,
        "bound_weights": [list(weight) for weight in bound.weights],
    }
