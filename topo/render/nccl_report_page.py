# SPDX-License-Identifier: Apache-2.0
"""`nccl report -o`: the report as an HTML page, and as metrics in OpenMetrics 1.0."""

from collections.abc import Iterator, Sequence

from railgauge.topo.jobs.recordings.report import CommunicatorReport, JobReport
from railgauge.topo.render.findings_html import STYLE, counted, html
from railgauge.topo.render.findings_metrics import sample
from railgauge.topo.render.markup import escape, page, section, table
from railgauge.topo.render.nccl_report import headline, lateness_table, title_of, usage_table, variables_text
from railgauge.topo.render.timeline import timeline

MOST_RANKS = 64


def report_page(found: JobReport, time: str) -> str:
    """The page; `time`: when it was made."""
    body = [
        "<h1>NCCL in a job</h1>",
        f"<p><strong>{escape(headline(found.job))}</strong></p>",
        f"<p>made {escape(time)}</p>",
        *(f"<p>{escape(text)}</p>" for text in variables_text(found.job)),
        section("Findings", counted(found.findings) + html(found.findings) if found.findings else ""),
        *(section(title_of(part), _communicator(part)) for part in found.communicators),
    ]
    return page("railgauge nccl report", body, STYLE)


def _communicator(part: CommunicatorReport) -> str:
    parts = [_table(usage_table(part))]
    if part.times is not None:
        parts.append(f"<p>waiting at the begin, by {escape(part.times.clock)}</p>")
        parts.append(_table(lateness_table(part, MOST_RANKS)))
    if picture := timeline(part):
        parts.append(f"<figure>\n{picture}</figure>")
    return "\n".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    cells = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows[1:])
    return table(rows[0], [f"<tr>{one}</tr>" for one in cells])


def report_metrics(found: JobReport) -> str:
    """Bandwidths and lateness as gauges, by communicator."""
    return "\n".join([*_metrics(found), "# EOF"]) + "\n"


def _metrics(found: JobReport) -> Iterator[str]:
    yield "# TYPE railgauge_nccl_busbw_gigabytes_per_second gauge"
    yield "# HELP railgauge_nccl_busbw_gigabytes_per_second Bus bandwidth after all ranks have come, the median."
    for part in found.communicators:
        for row in part.rows:
            if row.used.busbw_gb_per_s:
                labels = {
                    "communicator": part.communicator.id,
                    "function": row.used.function,
                    "type": row.used.dtype,
                    "bytes": str(row.used.bytes),
                }
                yield sample("railgauge_nccl_busbw_gigabytes_per_second", labels, row.used.busbw_gb_per_s)
    yield "# TYPE railgauge_nccl_lateness_seconds gauge"
    yield "# UNIT railgauge_nccl_lateness_seconds seconds"
    yield "# HELP railgauge_nccl_lateness_seconds How long the others wait for a rank when it comes last, typically."
    late_ranks = [(part, late) for part in found.communicators for late in part.lateness]
    for part, late in late_ranks:
        host = part.communicator.ranks[late.rank].recording.host
        labels = {"communicator": part.communicator.id, "rank": str(late.rank), "host": host}
        yield sample("railgauge_nccl_lateness_seconds", labels, late.typical_ns / 1e9)
    yield "# TYPE railgauge_nccl_lateness_ratio gauge"
    yield "# UNIT railgauge_nccl_lateness_ratio ratio"
    yield "# HELP railgauge_nccl_lateness_ratio The share of the time that the others wait for a rank."
    for part, late in late_ranks:
        labels = {"communicator": part.communicator.id, "rank": str(late.rank)}
        yield sample("railgauge_nccl_lateness_ratio", labels, late.share)
    yield "# TYPE railgauge_finding gauge"
    yield "# HELP railgauge_finding Findings of railgauge nccl report; 1 for each."
    told = dict.fromkeys((one.id, str(one.level), one.subject) for one in found.findings if one.level != "PASS")
    for name, level, subject in told:
        yield sample("railgauge_finding", {"id": name, "level": level, "subject": subject}, 1)
