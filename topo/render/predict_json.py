# SPDX-License-Identifier: Apache-2.0
"""A prediction as the content of a railgauge/predict/1 document."""

from typing import Any

from railgauge.topo.predict.comparison import Comparison
from railgauge.topo.predict.forecast import Forecast, Row
from railgauge.topo.predict.limit import Limit
from railgauge.topo.predict.plan import Plan

DIGITS = 4


def as_record(found: Forecast, compared: Comparison | None = None) -> dict[str, Any]:
    """What the document holds beside its head."""
    old = compared.before.rows if compared else (None,) * len(found.rows)
    return {
        "collective": str(found.collective),
        "ranks": found.plan.ranks,
        "nodes": found.plan.nodes,
        "device": "cpu" if found.plan.on_host else "cuda",
        "fabric": _fabric(found.plan) if found.plan.nodes > 1 else None,
        "change": {"edits": list(compared.edits), "statement": compared.statement} if compared else None,
        "ring": _graph(found.plan, "ring"),
        "tree": _graph(found.plan, "tree"),
        "rows": [
            _row(row) | {"limit": _limit(row.limit), "before": _row(was) if was else None}
            for row, was in zip(found.rows, old, strict=True)
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "bytes": row.size,
        "time_us": round(row.time_us, DIGITS),
        "latency_us": round(row.cost.latency_us, DIGITS),
        "transfer_us": round(row.cost.transfer_us, DIGITS),
        "algbw_gb_per_s": round(row.algbw_gb_per_s, DIGITS),
        "busbw_gb_per_s": round(row.busbw_gb_per_s, DIGITS),
        "algorithm": str(row.algorithm),
        "protocol": str(row.protocol),
        "channels": row.channels,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    link = limit.link
    return {
        "by": limit.by,
        "what": limit.what,
        "device": limit.device or None,
        "link": {
            "from": link.source,
            "to": link.target,
            "kind": str(link.kind),
            "gb_per_s": link.gb_per_s,
            "origin": link.origin,
            "assumed": link.assumed,
        }
        if link
        else None,
    }


def _fabric(plan: Plan) -> dict[str, Any]:
    return {
        "kind": str(plan.fabric.kind),
        "oversubscription": plan.fabric.oversubscription,
        "hop_latency_us": plan.fabric.hop_us,
        "radix": plan.fabric.radix,
        "levels": plan.fabric.levels(plan.nics, plan.nodes),
        "nodes_per_leaf": plan.nodes_per_leaf,
    }


def _graph(plan: Plan, name: str) -> dict[str, Any]:
    graph = getattr(plan.graphs, name)
    return {
        "channels": len(graph.channels),
        "gb_per_s_intra": graph.gb_per_s_intra,
        "gb_per_s_inter": graph.gb_per_s_inter,
        "type_intra": graph.type_intra,
        "type_inter": graph.type_inter,
    }
