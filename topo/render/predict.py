# SPDX-License-Identifier: Apache-2.0
"""A prediction (railgauge/predict/1): text as nccl-tests prints results, a line a size, then what the limits are."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from railgauge.topo.channels.limiting_cable import LimitingCable
from railgauge.topo.nccl.graph.link_names import device_at, slow_links
from railgauge.topo.nccl.graph.model import Link, System
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict import pairs
from railgauge.topo.predict.comparison import ForecastComparison
from railgauge.topo.predict.fabric import KnownFabric
from railgauge.topo.predict.forecast import Forecast, ForecastRow
from railgauge.topo.predict.limit import Limit
from railgauge.topo.predict.network import limiting_cable
from railgauge.topo.predict.nvls import existing
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import NEWEST, release_text
from railgauge.topo.predict.remarks import remarks
from railgauge.topo.render.nvls import nvls_heads

NVLS = (Algorithm.NVLS, Algorithm.NVLS_TREE)
MULTICAST = "# nvls needs NVLink multicast, which is assumed; without it: --set NCCL_NVLS_ENABLE=0"
DOMAIN = "of an NVLink domain are one for NCCL (MNNVL); without it: --set NCCL_MNNVL_ENABLE=0"
LEAST_WIDTH = 6
"""Of the column of algorithms: what GPUs have fits it."""
LEAST_USEFUL = ("algbw", "old algo", "proto", "channels", "old time", "algo", "limit")
"""Columns in the order in which a narrow terminal leaves them out."""


class _Column(NamedTuple):
    """A column: its head in two lines, its cells, the width of them, and the gap before it."""

    name: str
    unit: str
    cells: list[str]
    size: int
    left: bool = False
    gap: int = 2

    def padded(self, text: str) -> str:
        """The gap and a cell."""
        return " " * self.gap + (text.ljust(self.size) if self.left else text.rjust(self.size))


def predict_lines(
    found: Forecast, planned: Forecast, compared: ForecastComparison | None = None, width: int | None = None
) -> list[str]:
    """The whole text; `planned`: the same if all links ran at what NCCL plans with. width: of a terminal, within which
    the table leaves out columns.
    """
    slow = slow_links(found.plan.system)
    columns = _columns(found, planned if slow else None, compared.before.rows if compared else ())
    kept, left_out = _fitting(columns, width)
    names = "#" + "".join(one.padded(one.name) for one in kept)[1:]
    units = "#" + "".join(one.padded(one.unit) for one in kept)[1:].rstrip()
    table = ["".join(one.padded(cell) for one, cell in zip(kept, cells, strict=True)).rstrip()
             for cells in zip(*(one.cells for one in kept), strict=True)]  # fmt: skip
    head = [*_header(found), *(f"# {text}" for text in slow), names, units]
    note = [f"# ({', '.join(left_out)} left out: the terminal is too narrow)"] if left_out else []
    return [*([compared.statement] if compared else []), *head, *table, *note, *_limits(found), *_notes(found)]


def _columns(found: Forecast, planned: Forecast | None, old: Sequence[ForecastRow]) -> list[_Column]:
    rows = found.rows
    wide = max(LEAST_WIDTH, *(len(row.algorithm) for row in (*rows, *old)))
    columns = [
        _Column("size", "(B)", [str(row.size) for row in rows], 12),
        _Column("time", "(us)", [f"{row.time_us:.2f}" for row in rows], 10),
        _Column("algbw", "(GB/s)", [f"{row.algbw_gb_per_s:.2f}" for row in rows], 8),
        _Column("real" if planned else "busbw", "(busbw)" if planned else "(GB/s)", _busbw(rows), 8),
    ]
    if planned:
        columns.append(_Column("planned", "(busbw)", _busbw(planned.rows), 8))
    columns += [
        _Column("algo", "", [str(row.algorithm) for row in rows], wide, left=True),
        _Column("proto", "", [str(row.protocol) for row in rows], 6, left=True, gap=1),
        _Column("channels", "", [str(row.channels) for row in rows], 8, gap=1),
    ]
    if old:
        change = [f"{row.time_us / was.time_us - 1:+.0%}" for row, was in zip(rows, old, strict=True)]
        columns += [
            _Column("old time", "(us)", [f"{row.time_us:.2f}" for row in old], 10),
            _Column("old busbw", "(GB/s)", _busbw(old), 9),
            _Column("old algo", "", [str(row.algorithm) for row in old], wide + 2, left=True),
            _Column("change", "(time)", change, 7),
        ]
    return [*columns, _Column("limit", "", [row.limit.name for row in rows], 0, left=True)]


def _busbw(rows: Sequence[ForecastRow]) -> list[str]:
    return [f"{row.busbw_gb_per_s:.2f}" for row in rows]


def _fitting(columns: Sequence[_Column], width: int | None) -> tuple[list[_Column], list[str]]:
    """The columns that fit, and the names of those left out, the least useful first."""
    kept, left_out = list(columns), []
    for name in LEAST_USEFUL:
        if width is None or sum(one.gap + max(one.size, *map(len, one.cells)) for one in kept) <= width:
            break
        left_out += [one.name for one in kept if one.name == name]
        kept = [one for one in kept if one.name != name]
    return kept, left_out


def _header(found: Forecast) -> list[str]:
    plan, fabric = found.plan, found.plan.fabric
    kind = "host ranks" if plan.on_host else "GPUs"
    text = f"# {found.collective}: {plan.ranks} {kind}, {plan.machines} {'node' if plan.machines == 1 else 'nodes'}"
    text += f"; NCCL {release_text(plan.release)}" if plan.release != NEWEST and not plan.on_host else ""
    text += "; symmetric windows" * plan.symmetric
    if plan.nodes > 1:
        levels = fabric.levels(plan.nics, plan.nodes)
        text += f"; fabric {fabric.kind}, {levels} level{'s' * (levels > 1)} of {fabric.radix} ports"
        text += f", oversubscribed {fabric.oversubscription:g} to 1" * (levels > 1)
    domain = [f"# {plan.domain} nodes {DOMAIN}"] if plan.domain > 1 else []
    heads = [f"# {nvls_heads(plan, existing(plan))}"] if _by_nvls(found) else []
    return [text, *domain, *_cables(found), *(_graph(plan, name) for name in ("ring", "tree")), *heads]


def _limiting_cables(found: Forecast) -> dict[str, LimitingCable | None]:
    """Of rings, trees and messages in pairs, on a fabric that files describe; nothing on another."""
    plan = found.plan
    if plan.nodes == 1 or not isinstance(plan.fabric, KnownFabric):
        return {}
    channels = {str(one): limiting_cable(plan, one) for one in (Algorithm.RING, Algorithm.TREE)}
    return channels | {"pairs": pairs.limiting_cable(plan, found.collective)}


def _cables(found: Forecast) -> list[str]:
    all_cables, to_root = _limiting_cables(found), found.collective in (Collective.GATHER, Collective.SCATTER)
    shown = {"pairs": "messages"} if found.collective.in_pairs else {"ring": "rings", "tree": "trees"}
    cables = {words: all_cables.get(name) for name, words in shown.items()}
    known = [f"# most loaded cable of {words}: {cable.words}" for words, cable in cables.items() if cable]
    if all_cables and not known and not to_root:
        return ["# load of cables unknown: the files have fewer nodes or NICs than the job, or a cable without speed"]
    return known


def _graph(plan: NodePlan, name: str) -> str:
    graph = getattr(plan.graphs, name)
    types = graph.type_intra if not plan.leaves else f"{graph.type_intra}/{graph.type_inter}"
    speeds = f"{graph.gb_per_s_intra:g}" if not plan.leaves else f"{graph.gb_per_s_intra:g}/{graph.gb_per_s_inter:g}"
    return f"# {name}: {len(graph.channels)} channels x {speeds} GB/s, {types}"


def _limits(found: Forecast) -> list[str]:
    """What each word in the last column means, each once."""
    known = dict.fromkeys((row.limit.name, row.limit.what) for row in found.rows)
    return [f"# {name}: {what}" for name, what in known]


def _notes(found: Forecast) -> list[str]:
    plan = found.plan
    if plan.on_host:
        return ["# CPU costs are those of one measured machine; traffic between nodes is as planned"]
    return [*(f"# {text}" for text in remarks(plan, found.collective)), *([MULTICAST] if _by_nvls(found) else [])]


def _by_nvls(found: Forecast) -> bool:
    return any(row.algorithm in NVLS for row in found.rows)


DIGITS = 4


def predict_document(found: Forecast, planned: Forecast, compared: ForecastComparison | None = None) -> dict[str, Any]:
    """What the document holds beside its head."""
    old = compared.before.rows if compared else (None,) * len(found.rows)
    return {
        "collective": str(found.collective),
        "ranks": found.plan.ranks,
        "nodes": found.plan.machines,
        "nvlink_domain": found.plan.domain,
        "device": "cpu" if found.plan.on_host else "cuda",
        "nccl": None if found.plan.on_host else release_text(found.plan.release),
        "datatype": found.plan.datatype,
        "redop": found.plan.redop,
        "symmetric": found.plan.symmetric,
        "fabric": _fabric_record(found) if found.plan.nodes > 1 else None,
        "change": {"edits": list(compared.edits), "statement": compared.statement} if compared else None,
        "ring": _graph_record(found.plan, "ring"),
        "tree": _graph_record(found.plan, "tree"),
        "rows": [
            row_record(row)
            | {
                "planned_busbw_gb_per_s": round(plan.busbw_gb_per_s, DIGITS),
                "limit": limit_record(row.limit),
                "before": row_record(was) if was else None,
            }
            for row, plan, was in zip(found.rows, planned.rows, old, strict=True)
        ],
        "remarks": list(remarks(found.plan, found.collective)),
        "slow_links": [_slow_record(found.plan.system, link) for link in found.plan.system.slow],
    }


def row_record(row: ForecastRow) -> dict[str, Any]:
    """A size with its time and bandwidths, and how NCCL runs it."""
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


def limit_record(limit: Limit) -> dict[str, Any]:
    """What limits a size."""
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
            "gb_per_s": link.real_gb_per_s,
            "origin": link.now or link.origin,
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


def _fabric_record(found: Forecast) -> dict[str, Any]:
    plan = found.plan
    return {
        "kind": str(plan.fabric.kind),
        "oversubscription": plan.fabric.oversubscription,
        "hop_latency_us": plan.fabric.hop_us,
        "radix": plan.fabric.radix,
        "levels": plan.fabric.levels(plan.nics, plan.nodes),
        "nodes_per_leaf": plan.nodes_per_leaf,
        "cables": {name: cable and cable_record(cable) for name, cable in _limiting_cables(found).items()} or None,
    }


def cable_record(cable: LimitingCable) -> dict[str, Any]:
    """The cable that limits."""
    return {
        "from": cable.source,
        "to": cable.target,
        "gb_per_s": cable.gb_per_s,
        "share": round(cable.share, DIGITS),
        "allows_gb_per_s": round(cable.allows, DIGITS),
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
