# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a result: the picture, the rows, and the connections."""

from collections.abc import Iterable, Sequence

from railgauge.collectives.document import RunDocument
from railgauge.collectives.measure import Row
from railgauge.collectives.repeated import WAYS, timings
from railgauge.collectives.report import svg
from railgauge.collectives.report.chart import Chart
from railgauge.topo.render.markup import escape, page, section, table

ROW = ("bytes", "count", "type", "operator", "root", "algorithm", "protocol", "channels", "predicted GB/s", "memory us")
WAY = ("us", "algbw GB/s", "busbw GB/s", "wrong")
CONNECTION = ("channel", "from", "to", "via", "planned", "bytes")
STYLE = "th, td { text-align: right } th { white-space: normal; vertical-align: bottom }"


def dumps(chart: Chart, document: RunDocument) -> str:
    """The page."""
    heads = [*ROW, *(f"{way.replace('_', ' ')} {what}" for way in WAYS for what in WAY)]
    body = [
        f"<figure>\n{svg.dumps(chart)}</figure>",
        f'<p class="wrong">{escape(document.error)}</p>' if document.error else "",
        section("Rows", table(heads, map(_cells, map(_row, document.rows))) if document.rows else ""),
        section("Connections", table(CONNECTION, map(_cells, _connections(document))) if document.connections else ""),
    ]
    return page(chart.title, body, STYLE)


def _cells(row: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>"


def _row(row: Row) -> list[object]:
    cells: list[object] = [row.bytes, row.count, row.dtype, row.redop, row.root if row.root >= 0 else ""]
    cells += ["" if each is None else each for each in (row.algorithm, row.protocol, row.channels)]
    cells += [f"{row.predicted_busbw_gb_per_s:.3g}"]
    cells += ["" if row.floor_us is None else f"{row.floor_us:.2f}"]
    for way in WAYS:
        (timing,) = timings([row], way)
        figures = (timing.algbw_gb_per_s, timing.busbw_gb_per_s)
        cells += [f"{timing.time_us:.2f}", *(f"{figure:.3g}" for figure in figures)]
        cells += ["" if timing.wrong is None else timing.wrong]
    return cells


def _connections(document: RunDocument) -> Iterable[list[object]]:
    for c in document.connections:
        known = ("" if each is None else each for each in (c.planned, c.bytes_sent))
        yield [c.channel, c.from_rank, c.to_rank, c.via, *known]
