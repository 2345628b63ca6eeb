# SPDX-License-Identifier: Apache-2.0
"""The picture of judged tables, a panel each: what was measured, forecast, bound, and the sizes that depart."""

from collections.abc import Iterable, Sequence

from railgauge.collectives.report.chart import Chart, Curve, CurveKind, Panel, Point
from railgauge.topo.jobs.judge.curve import in_place, out_of_place
from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.predict.comparison import size_text


def judged_chart(judged: Sequence[JudgedTable], title: str, command: str) -> Chart:
    """The picture of tables, each in its panel."""
    panels = tuple(_panel(one) for one in judged if one.curve)
    return Chart(title=title, command=command, remark="", planned_gb_per_s=None, panels=panels)


def _panel(one: JudgedTable) -> Panel:
    table = one.table
    forecast = one.forecast or {}
    curves = (
        _curve(CurveKind.BOUND, ((size, one.bound) for size, _ in one.curve if one.bound)),
        _curve(CurveKind.PREDICTED, ((size, forecast[size]) for size, _ in one.curve if size in forecast)),
        _curve(CurveKind.OUT_OF_PLACE, out_of_place(table)),
        _curve(CurveKind.IN_PLACE, in_place(table)),
        _curve(CurveKind.DEPARTS, (point for point in one.curve if point.size in one.departs)),
    )
    nodes = f", {table.nodes} nodes" if table.nodes > 1 else ""
    title = f"{table.collective or table.test}, {table.ranks} ranks{nodes}"
    return Panel(title, tuple(curve for curve in curves if curve.points), ())


def _curve(kind: CurveKind, points: Iterable[tuple[int, float]]) -> Curve:
    note = f"{kind.label}: "
    return Curve(kind, tuple(Point(size, by, f"{size_text(size)} {note}{by:.4g} GB/s") for size, by in points))
