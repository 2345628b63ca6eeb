# SPDX-License-Identifier: Apache-2.0
"""A job's bill (railgauge/bill/1): a table for each step, the most expensive operation first."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.jobs.bill.bill import Bill, BillRow, BillStep
from railgauge.topo.jobs.traces.trace import TracedGroup
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.predict.limit import LATENCY
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.predict import DIGITS, limit_record, row_record
from railgauge.topo.render.wrapping import fitting
from railgauge.topo.values.spans import listed, spans

MOST_GROUPS = 2
"""Groups that a line names."""
MOST_LIMITS = 4
LONGEST = 16
"""Of a group's ranks in a cell."""


def bill_lines(found: Bill, width: int | None) -> Iterator[Line]:
    """The whole text; width: of a terminal, within which tables leave out columns."""
    nodes = f"{found.nodes} node{'s' * (found.nodes > 1)} of {found.per_node} GPUs"
    yield line(f"{found.ranks} ranks on {nodes}; {', '.join(found.kinds)}")
    if found.edits:
        yield line(f"changed: {', '.join(found.edits)}")
    for step in found.steps:
        yield line("")
        yield from _step(step, width)
    yield from map(line, _assumptions(found))
    for why, count in found.left_out.items():
        yield line(f"# {count} operations left out: {why}")
    limits = [row.priced.after.limit for step in found.steps for row in step.rows]
    for name, what in {limit.name: limit.what for limit in reversed(limits) if limit.by != LATENCY}.items():
        yield line(f"# {name}: {what}", Ink.QUIET)


def _assumptions(found: Bill) -> Iterator[str]:
    """What the forecasts assume beyond the trace, with the first groups that it is of."""
    groups: dict[str, dict[str, None]] = {}
    for row in (row for step in found.steps for row in step.rows if row.placement.assumed):
        groups.setdefault(row.placement.assumed, {}).update(dict.fromkeys(map(_ranks, row.groups)))
    for why, names in groups.items():
        yield f"# {_some(list(names))}: {why}"


def _step(step: BillStep, width: int | None) -> Iterator[Line]:
    which = spans("step", step.steps) if step.steps else "the whole trace"
    each = ", each" if len(step.steps) > 1 else ""
    text = f"{which}{each}: {_us(step.total_us)} us of communication"
    if step.before_us is not None:
        text += f", {_us(step.before_us)} before ({_change(step.total_us, step.before_us)})"
    if step.measured_us is not None:
        text += f"; measured {_us(step.measured_us)} us"
    yield line(text, Ink.HEADING)
    shares = [f"{name} {share:.0%}" for name, share in list(step.limits.items())[:MOST_LIMITS]]
    yield line(f"limited by {', '.join(shares)}")
    if len(step.groups) > 1:
        yield from map(line, fitting(_group_table(step), width))
        yield line("")
    yield from map(line, fitting(_table(step), width))


def _group_table(step: BillStep) -> list[list[str]]:
    columns = [
        ["group", *(_some([_ranks(group) for group in one.groups]) for one in step.groups)],
        _right("ranks", [str(one.groups[0].size) for one in step.groups]),
        _right("total us", [_us(one.total_us) for one in step.groups]),
        _right("share", [f"{one.share:.1%}" for one in step.groups]),
        ["name", *(one.groups[0].name for one in step.groups)],
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def _table(step: BillStep) -> list[list[str]]:
    """Head and rows; the last columns are the first that a narrow terminal leaves out."""
    columns = [
        ["operation", *(str(row.operation.collective) for row in step.rows)],
        _right("size", [size_text(row.operation.bytes) for row in step.rows]),
        ["group", *(_groups(row) for row in step.rows)],
        _right("times", [str(row.times) for row in step.rows]),
        _right("each us", [_us(row.each_us) for row in step.rows]),
        _right("total us", [_us(row.total_us) for row in step.rows]),
        _right("share", [f"{row.share:.1%}" for row in step.rows]),
    ]
    if step.before_us is not None:
        old = [row.priced.before.time_us if row.priced.before else row.each_us for row in step.rows]
        columns += [
            _right("before", [_us(us) for us in old]),
            _right("change", [_change(row.each_us, us) for row, us in zip(step.rows, old, strict=True)]),
        ]
    if any(row.measured_us is not None for row in step.rows):
        columns.append(
            _right("measured", ["-" if row.measured_us is None else _us(row.measured_us) for row in step.rows])
        )
    columns += [
        ["limit", *(row.priced.after.limit.name for row in step.rows)],
        _right("at limit", [f"{row.limit_share:.0%}" for row in step.rows]),
        ["type", *(row.operation.dtype for row in step.rows)],
        ["algorithm", *(f"{row.priced.after.algorithm} {row.priced.after.protocol}" for row in step.rows)],
        ["placed on", *(row.placement.text for row in step.rows)],
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def _right(name: str, cells: list[str]) -> list[str]:
    wide = max(map(len, (name, *cells)))
    return [cell.rjust(wide) for cell in (name, *cells)]


def _us(us: float) -> str:
    return f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def _change(now: float, before: float) -> str:
    return f"{now / before - 1:+.0%}"


def _groups(row: BillRow) -> str:
    return _some([_ranks(group) for group in row.groups])


def _some(names: list[str]) -> str:
    """The first groups, and how many more there are."""
    named = " | ".join(names[:MOST_GROUPS])
    more = len(names) - MOST_GROUPS
    return f"{named} and {more} more" if more > 0 else named


def _ranks(group: TracedGroup) -> str:
    """0-7; every eighth rank as 0,8,...,56; the name of a group whose ranks are unknown."""
    if not group.ranks:
        return group.name or f"{group.size} ranks"
    if group.ranks != tuple(sorted(group.ranks)):
        return "->".join(map(str, group.ranks)) if group.size == 2 else f"{group.ranks[0]},...,{group.ranks[-1]}"
    text = listed(group.ranks)
    return text if len(text) <= LONGEST else f"{group.ranks[0]},{group.ranks[1]},...,{group.ranks[-1]}"


def bill_document(found: Bill) -> dict[str, Any]:
    """What the document holds beside its head."""
    return {
        "traces": list(found.kinds),
        "ranks": found.ranks,
        "nodes": found.nodes,
        "gpus_per_node": found.per_node,
        "change": {"edits": list(found.edits)} if found.edits else None,
        "left_out": [{"why": why, "count": count} for why, count in found.left_out.items()],
        "steps": [_step_record(step) for step in found.steps],
    }


def _step_record(step: BillStep) -> dict[str, Any]:
    return {
        "steps": list(step.steps),
        "total_us": round(step.total_us, DIGITS),
        "before_us": _rounded(step.before_us),
        "measured_us": _rounded(step.measured_us),
        "limits": [{"name": name, "share": round(share, DIGITS)} for name, share in step.limits.items()],
        "groups": [
            {
                "groups": [_group_record(group) for group in one.groups],
                "total_us": round(one.total_us, DIGITS),
                "share": round(one.share, DIGITS),
            }
            for one in step.groups
        ],
        "rows": [_record(row) for row in step.rows],
    }


def _record(row: BillRow) -> dict[str, Any]:
    return {
        "collective": str(row.operation.collective),
        "bytes": row.operation.bytes,
        "count": row.operation.elements,
        "datatype": row.operation.dtype,
        "redop": row.operation.redop,
        "groups": [_group_record(group) for group in row.groups],
        "placement": {
            "nodes": row.placement.nodes,
            "gpus": list(row.placement.gpus),
            "assumed": row.placement.assumed or None,
        },
        "times": row.times,
        "each_us": round(row.each_us, DIGITS),
        "total_us": round(row.total_us, DIGITS),
        "share": round(row.share, DIGITS),
        "limit_share": round(row.limit_share, DIGITS),
        "measured_us": _rounded(row.measured_us),
        "forecast": row_record(row.priced.after),
        "limit": limit_record(row.priced.after.limit),
        "before": row_record(row.priced.before) if row.priced.before else None,
    }


def _group_record(group: TracedGroup) -> dict[str, Any]:
    return {"name": group.name, "size": group.size, "ranks": list(group.ranks) or None}


def _rounded(us: float | None) -> float | None:
    return None if us is None else round(us, DIGITS)
