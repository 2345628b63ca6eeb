# SPDX-License-Identifier: Apache-2.0
"""A prediction (railgauge/predict/1): text as nccl-tests prints results, a line a size, then what the limits are."""

from typing import Any

from railgauge.topo.nccl.graph.link_names import device_at, slow_links
from railgauge.topo.nccl.graph.model import Link, NodeKind, System
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.comparison import ForecastComparison
from railgauge.topo.predict.forecast import Forecast, ForecastRow
from railgauge.topo.predict.limit import Limit
from railgauge.topo.predict.plan import NodePlan

LEAST_WIDTH = 6
"""Of the column of algorithms: what GPUs have fits it."""


def predict_lines(found: Forecast, planned: Forecast, compared: ForecastComparison | None = None) -> list[str]:
    """The whole text; `planned`: the same if all links ran at what NCCL plans with."""
    old = compared.before.rows if compared else ()
    width = max(LEAST_WIDTH, *(len(row.algorithm) for row in (*found.rows, *old)))
    slow = slow_links(found.plan.system)
    asked = zip(found.rows, planned.rows, old or (None,) * len(found.rows), strict=True)
    table = [_row(row, plan if slow else None, was, width) for row, plan, was in asked]
    head = [*_header(found), *(f"# {text}" for text in slow), *_columns(width, bool(slow), compared is not None)]
    return [*([compared.statement] if compared else []), *head, *table, *_limits(found), *_notes(found)]


def _columns(width: int, slow: bool, compares: bool) -> list[str]:
    plan, speed = (f"  {'planned':>8}", f"  {'(busbw)':>8}") if slow else ("", "")
    figures = f"{'time':>10}  {'algbw':>8}  {'real' if slow else 'busbw':>8}{plan}"
    names = f"# {'size':>12}  {figures}  {'algo':<{width}} {'proto':<6} {'channels':>8}"
    busbw = "(busbw)" if slow else "(GB/s)"
    units = f"# {'(B)':>12}  {'(us)':>10}  {'(GB/s)':>8}  {busbw:>8}{speed}  {'':<{width}} {'':<6} {'':>8}"
    if compares:
        names += f"  {'old time':>10}  {'old busbw':>9}  {'old algo':<{width + 2}}  {'change':>7}"
        units += f"  {'(us)':>10}  {'(GB/s)':>9}  {'':<{width + 2}}  {'(time)':>7}"
    return [f"{names}  limit", units.rstrip()]


def _header(found: Forecast) -> list[str]:
    plan, fabric = found.plan, found.plan.fabric
    kind = "host ranks" if plan.on_host else "GPUs"
    text = f"# {found.collective}: {plan.ranks} {kind}, {plan.nodes} {'node' if plan.nodes == 1 else 'nodes'}"
    if plan.nodes > 1:
        levels = fabric.levels(plan.nics, plan.nodes)
        text += f"; fabric {fabric.kind}, {levels} level{'s' * (levels > 1)} of {fabric.radix} ports"
        text += f", oversubscribed {fabric.oversubscription:g} to 1" * (levels > 1)
    return [text, *(_graph(plan, name) for name in ("ring", "tree"))]


def _graph(plan: NodePlan, name: str) -> str:
    graph = getattr(plan.graphs, name)
    types = graph.type_intra if not plan.leaves else f"{graph.type_intra}/{graph.type_inter}"
    speeds = f"{graph.gb_per_s_intra:g}" if not plan.leaves else f"{graph.gb_per_s_intra:g}/{graph.gb_per_s_inter:g}"
    return f"# {name}: {len(graph.channels)} channels x {speeds} GB/s, {types}"


def _row(row: ForecastRow, planned: ForecastRow | None, was: ForecastRow | None, width: int) -> str:
    figures = f"{row.time_us:>10.2f}  {row.algbw_gb_per_s:>8.2f}  {row.busbw_gb_per_s:>8.2f}"
    figures += f"  {planned.busbw_gb_per_s:>8.2f}" if planned else ""
    old = ""
    if was is not None:
        change = row.time_us / was.time_us - 1
        old = f"  {was.time_us:>10.2f}  {was.busbw_gb_per_s:>9.2f}  {was.algorithm:<{width + 2}}  {change:>+7.0%}"
    limit = row.limit.name
    return f"  {row.size:>12}  {figures}  {row.algorithm:<{width}} {row.protocol:<6} {row.channels:>8}{old}  {limit}"


def _limits(found: Forecast) -> list[str]:
    """What each word in the last column means, each once."""
    known = dict.fromkeys((row.limit.name, row.limit.what) for row in found.rows)
    return [f"# {name}: {what}" for name, what in known]


def _notes(found: Forecast) -> list[str]:
    plan = found.plan
    if plan.on_host:
        return ["# CPU costs are those of one measured machine; traffic between nodes is as planned"]
    multicast = plan.system.kind(NodeKind.NVS) and plan.sms[0] >= 90 and found.collective is Collective.ALL_REDUCE
    return (
        ["# without NVLink multicast (NVLS), which is not modelled; NCCL is faster where it is on"] if multicast else []
    )


DIGITS = 4


def predict_document(found: Forecast, planned: Forecast, compared: ForecastComparison | None = None) -> dict[str, Any]:
    """What the document holds beside its head."""
    old = compared.before.rows if compared else (None,) * len(found.rows)
    return {
        "collective": str(found.collective),
        "ranks": found.plan.ranks,
        "nodes": found.plan.nodes,
        "device": "cpu" if found.plan.on_host else "cuda",
        "fabric": _fabric_record(found.plan) if found.plan.nodes > 1 else None,
        "change": {"edits": list(compared.edits), "statement": compared.statement} if compared else None,
        "ring": _graph_record(found.plan, "ring"),
        "tree": _graph_record(found.plan, "tree"),
        "rows": [
            _row_record(row)
            | {
                "planned_busbw_gb_per_s": round(plan.busbw_gb_per_s, DIGITS),
                "limit": _limit_record(row.limit),
                "before": _row_record(was) if was else None,
            }
            for row, plan, was in zip(found.rows, planned.rows, old, strict=True)
        ],
        "slow_links": [_slow_record(found.plan.system, link) for link in found.plan.system.slow],
    }


def _row_record(row: ForecastRow) -> dict[str, Any]:
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


def _limit_record(limit: Limit) -> dict[str, Any]:
    link = limit.link
    return {
        "by": limit.by,
        "what": limit.what,
        "device": limit.device or None,
        "name": limit.name,
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


def _slow_record(system: System, link: Link) -> dict[str, Any]:
    """A link that runs slower than planned."""
    return {
        "device": device_at(system, link),
        "from": link.source,
        "to": link.target,
        "planned_gb_per_s": link.gb_per_s,
        "real_gb_per_s": link.real_gb_per_s,
        "planned": link.origin,
        "real": link.now,
    }


def _fabric_record(plan: NodePlan) -> dict[str, Any]:
    return {
        "kind": str(plan.fabric.kind),
        "oversubscription": plan.fabric.oversubscription,
        "hop_latency_us": plan.fabric.hop_us,
        "radix": plan.fabric.radix,
        "levels": plan.fabric.levels(plan.nics, plan.nodes),
        "nodes_per_leaf": plan.nodes_per_leaf,
    }


def _graph_record(plan: NodePlan, name: str) -> dict[str, Any]:
    graph = getattr(plan.graphs, name)
    return {
        "channels": len(graph.channels),
        "gb_per_s_intra": graph.gb_per_s_intra,
        "gb_per_s_inter": graph.gb_per_s_inter,
        "type_intra": graph.type_intra,
        "type_inter": graph.type_inter,
    }
