# SPDX-License-Identifier: Apache-2.0
"""A judged table: as text for people and as the content of a railgauge/judge/1 document."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.jobs.tables.table import MeasuredTable, Program
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.render import findings
from railgauge.topo.render.palette import Line, line


def judge_document(judged: Sequence[JudgedTable]) -> dict[str, Any]:
    """The content of the document, without its head."""
    return {
        "tables": [_table(one) for one in judged],
        "findings": [findings.record(finding) for one in judged for finding in one.findings],
    }


def judge_lines(one: JudgedTable) -> Iterator[Line]:
    """What was measured, and what it reached beside forecast and bound."""
    table = one.table
    library = "RCCL" if table.program is Program.RCCL_TESTS else "NCCL"
    parts = [
        str(table.collective or table.test or "unknown test"),
        *([f"{table.ranks} {'rank' if table.ranks == 1 else 'ranks'}"] if table.ranks else []),
        *([f"{table.nodes} nodes"] if table.nodes > 1 else []),
        f"{table.program} {table.release}".strip(),
        *([f"{library} {table.library}"] if table.library else []),
    ]
    yield line(", ".join(parts))
    yield line(f"  {reached_text(one) or _shortest(table)}")
    if one.departs:
        more = f" to {size_text(one.departs[-1])}" if len(one.departs) > 1 else ""
        yield line(f"  below three quarters of the forecast: {size_text(one.departs[0])}{more}")
    yield from (line(f"  {text}") for text in one.remarks)
    for cause, _, by_size in one.causes:
        explain = f"; railgauge explain {cause.id}" if cause.id else ""
        else_at = "seen here" if cause.seen else "often"
        at = f"would reach {by_size[one.curve[-1].size]:.4g} GB/s" if by_size else else_at
        yield line(f"  {at}: {cause.what} ({cause.sure}{explain})")


def _shortest(table: MeasuredTable) -> str:
    """The time of the shortest message of a table without bandwidths."""
    times = [(row.size, row.out_of_place.time_us) for row in table.rows if row.out_of_place.time_us]
    if not times:
        return "no bandwidth in the table"
    size, us = min(times)
    return f"{us:g} us at {size_text(size)}" if size else f"{us:g} us"


def reached_text(one: JudgedTable) -> str:
    """The figure of the largest sizes beside forecast and bound; "" without one."""
    if one.reached is None:
        return ""
    if not one.curve:  # a matrix
        many = len(one.table.rows)
        text = f"{one.reached:.4g} GB/s" + (f" in the median of {many} copies" if many > 1 else "")
        return text if one.bound is None else f"{text}; the path carries {one.bound:.4g}"
    unit = "GB/s busbw" if one.table.collective else "GB/s"
    text = f"reached {one.reached:.4g} {unit} up to {size_text(one.curve[-1].size)}"
    if (forecast := one.forecast_reached) is not None:
        text += f"; forecast {forecast:.4g}"
    return text if one.bound is None else f"{text}; bound {one.bound:.4g}"


def _table(one: JudgedTable) -> dict[str, Any]:
    table = one.table
    return {
        "program": str(table.program),
        "release": table.release,
        "library": table.library,
        "test": table.test,
        "collective": table.collective,
        "ranks": table.ranks,
        "nodes": table.nodes,
        "line": table.line,
        "reached_gb_per_s": one.reached,
        "forecast_gb_per_s": one.forecast_reached,
        "bound_gb_per_s": one.bound,
        "why_no_forecast": one.why_no_forecast,
        "remarks": list(one.remarks),
        "departs": list(one.departs),
        "causes": [
            {
                "cause": cause.what,
                "id": cause.id or None,
                "sure": cause.sure,
                "gb_per_s": by_size.get(one.curve[-1].size),
            }
            for cause, _, by_size in one.causes
        ],
        "rows": [
            {
                "bytes": row.size,
                "busbw_gb_per_s": row.gb_per_s,
                "forecast_gb_per_s": one.forecast[row.size] if one.forecast else None,
            }
            for row in one.curve
        ],
    }
