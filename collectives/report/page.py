# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a result: the picture, the rows, and the connections. Self-contained: it has no script and loads
nothing.
"""

from collections.abc import Iterable, Sequence

from railgauge.collectives.document import RunDocument
from railgauge.collectives.measure import Row
from railgauge.collectives.repeated import WAYS, timings
from railgauge.collectives.report import svg
from railgauge.collectives.report.chart import Chart
from railgauge.topo.render.markup import escape
from railgauge.topo.render.picture.page import STYLE

ROW = ("bytes", "count", "type", "operator", "root", "algorithm", "protocol", "channels", "predicted GB/s", "memory us")
WAY = ("us", "algbw GB/s", "busbw GB/s", "wrong")
CONNECTION = ("channel", "from", "to", "via", "planned", "bytes")
RIGHT = "<style>th, td { text-align: right } th { white-space: normal; vertical-align: bottom }</style>"


def dumps(chart: Chart, document: RunDocument) -> str:
    """The page."""
    heads = [*ROW, *(f"{way.replace('_', ' ')} {what}" for way in WAYS for what in WAY)]
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(chart.title)}</title>\n<style>\n{STYLE}\n</style>{RIGHT}</head>",
        "<body>",
        f"<figure>\n{svg.dumps(chart)}</figure>",
        f'<p class="wrong">{escape(document.error)}</p>' if document.error else "",
        f"<h2>Rows</h2>\n{_table(heads, map(_row, document.rows))}" if document.rows else "",
        f"<h2>Connections</h2>\n{_table(CONNECTION, _connections(document))}" if document.connections else "",
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


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
