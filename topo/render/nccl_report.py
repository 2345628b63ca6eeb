# SPDX-License-Identifier: Apache-2.0
"""The report on a job's recordings (railgauge/nccl-report/1): what each communicator did, and who was late."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.jobs.hang.model import counted
from railgauge.topo.jobs.recordings.job import RecordedJob
from railgauge.topo.jobs.recordings.lateness import RankLateness
from railgauge.topo.jobs.recordings.recording import RecordedVariable, Recording
from railgauge.topo.jobs.recordings.report import CommunicatorReport, JobReport, ReportRow
from railgauge.topo.jobs.recordings.slow_sends import Sends
from railgauge.topo.jobs.recordings.usage import NcclChoice
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.render import findings
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.wrapping import fitting

MOST_ROWS, MOST_COMMUNICATORS, MOST_RANKS = 24, 8, 8
"""Lines of a table, tables, and ranks that are shown; the JSON document has all."""
HEAD = ("operation", "size", "type", "count", "algorithm", "us", "busbw", "forecast", "bound")
LATE_HEAD = ("rank", "host", "waited for", "typical ms", "most ms", "costs")


def report_lines(found: JobReport, width: int | None) -> Iterator[Line]:
    """The text without the findings; width: of a terminal, within which tables leave out columns."""
    yield line(headline(found.job))
    for text in variables_text(found.job):
        yield line(text, Ink.QUIET)
    for part in found.communicators[:MOST_COMMUNICATORS]:
        yield line("")
        yield line(title_of(part), Ink.HEADING)
        yield from map(line, _indented(usage_table(part)[: MOST_ROWS + 1], width))
        if len(part.rows) > MOST_ROWS:
            yield line(f"  and {len(part.rows) - MOST_ROWS} more (--json has all)")
        if slowest := ", ".join(dict.fromkeys(row.forecast.host for row in part.rows if row.forecast)):
            yield line(f"  the hosts differ: forecast as if all were like the slowest, {slowest}", Ink.QUIET)
        if part.times is not None:
            yield line(f"  waiting at the begin, by {part.times.clock}:")
            yield from map(line, _indented(lateness_table(part), width))
            if len(part.lateness) > MOST_RANKS:
                yield line(f"  and {counted(len(part.lateness) - MOST_RANKS, 'rank')} more (--json has all)")
    if len(found.communicators) > MOST_COMMUNICATORS:
        yield line(f"and {len(found.communicators) - MOST_COMMUNICATORS} more communicators (--json has all)")
    if found.runs:
        yield line("the job runs, or ended less than 10 s ago: ranks that are apart are not reported", Ink.QUIET)
    yield from map(line, found.notes[:MOST_RANKS])
    if found.why_no_forecast:
        yield line(f"no forecast: {found.why_no_forecast}", Ink.QUIET)


def headline(job: RecordedJob) -> str:
    """`2 processes on node1; NCCL 2.28.9, level channel; 320 records`."""
    releases = sorted({one.nccl for one in job.recordings if one.nccl})
    hosts = job.hosts
    levels = sorted({one.level for one in job.recordings})
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    library = f"NCCL {', '.join(releases)}" if releases else "release of NCCL unknown"
    kept = sum(len(one.records) for one in job.recordings)
    lost = f", {job.lost} lost" if job.lost else ""
    level = "/".join(one.name.lower() for one in levels)
    return f"{_processes(len(job.recordings))} on {where}; {library}, level {level}; {kept} records{lost}"


def _processes(count: int) -> str:
    return f"{count} process{'es' * (count != 1)}"


def title_of(part: CommunicatorReport) -> str:
    """`communicator 0xc0ffee (tp), 2 ranks on node1`."""
    one = part.communicator
    hosts = one.hosts
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    recorded = "" if len(one.ranks) == one.size else f", {len(one.ranks)} of them recorded"
    return f"{one.title}, {counted(one.size, 'rank')} on {where}{recorded}"


def usage_table(part: CommunicatorReport) -> list[tuple[str, ...]]:
    """What was used, with a head."""
    return [HEAD, *(_usage(row) for row in part.rows)]


def _usage(row: ReportRow) -> tuple[str, ...]:
    used, beside = row.used, row.forecast
    chosen = " / ".join(choice.text for choice, _ in used.choices[:2]) or "-"
    more = f" +{len(used.choices) - 2}" if len(used.choices) > 2 else ""
    captured = f" ({used.captured} captured)" if used.captured else ""
    reached = used.busbw_gb_per_s
    return (
        used.function,
        size_text(used.bytes) if used.bytes else "-",
        used.dtype,
        f"{used.count}{captured}",
        f"{chosen}{more}",
        f"{used.took_us:.1f}" if used.took_us else "-",
        f"{reached:.4g}" if reached else "-",
        f"{beside.row.busbw_gb_per_s:.4g}" if beside else "-",
        f"{beside.bound_gb_per_s:.4g}" if beside and beside.bound_gb_per_s else "-",
    )


def lateness_table(part: CommunicatorReport, most: int = MOST_RANKS) -> list[tuple[str, ...]]:
    """Who was waited for how often, the costliest first, with a head."""
    ordered = sorted(part.lateness, key=lambda one: (-one.share, one.rank))
    return [LATE_HEAD, *(_late(part, one) for one in ordered[:most])]


def _late(part: CommunicatorReport, one: RankLateness) -> tuple[str, ...]:
    return (
        str(one.rank),
        part.communicator.ranks[one.rank].recording.host,
        f"{one.times} of {one.operations}",
        f"{one.typical_ns / 1e6:.3f}",
        f"{one.most_ns / 1e6:.3f}",
        f"{one.share:.1%}",
    )


def _indented(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    yield from (f"  {text}" for text in fitting(rows, None if width is None else width - 2))


def variables_text(job: RecordedJob) -> Iterator[str]:
    """The variables that were set and read, and on which processes they differ."""
    known = [one for one in job.recordings if one.variables is not None]
    if not known:
        yield "variables that NCCL read: unknown (no environment plugin before NCCL 2.28.9)"
        return
    read = {variable.name for one in known for variable in one.variables or ()}
    by_value: dict[tuple[str, str, str], list[int]] = {}
    for place, one in enumerate(known):
        for variable in _set(one):
            by_value.setdefault((variable.name, variable.value or "", variable.origin), []).append(place)
    told = [
        f"{name}={value} ({origin}{'' if len(places) == len(known) else f', {_processes(len(places))}'})"
        for (name, value, origin), places in sorted(by_value.items())
    ]
    yield f"NCCL read {len(read)} variables; set: {', '.join(told) or 'none'}"


def _set(one: Recording) -> Iterator[RecordedVariable]:
    return (variable for variable in one.variables or () if variable.value is not None)


def report_document(found: JobReport) -> dict[str, Any]:
    """The content of the document, without its head."""
    return {
        "running": found.runs,
        "recordings": [_recording(one) for one in found.job.recordings],
        "communicators": [_communicator(part) for part in found.communicators],
        "stuck": found.hang.is_stuck and not found.runs,
        "verdict": found.hang.text,
        "notes": list(found.notes),
        "why_no_forecast": found.why_no_forecast,
        "findings": [findings.record(one) for one in found.findings],
    }


def _recording(one: Recording) -> dict[str, Any]:
    return {
        "path": one.path,
        "host": one.host,
        "pid": one.pid,
        "program": one.program,
        "nccl": one.nccl or None,
        "profiler": one.profiler,
        "level": one.level.name.lower(),
        "every": one.every,
        "job_rank": one.job_rank if one.job_rank >= 0 else None,
        "records": len(one.records),
        "lost": one.lost,
        "variables": None
        if one.variables is None
        else [
            {"name": each.name, "value": each.value, "origin": each.origin, "reads": each.reads}
            for each in one.variables
        ],
    }


def _communicator(part: CommunicatorReport) -> dict[str, Any]:
    one = part.communicator
    return {
        "id": one.id,
        "name": one.name,
        "size": one.size,
        "ranks": [
            {
                "rank": rank,
                "host": of.recording.host,
                "pid": of.recording.pid,
                "bus_id": of.communicator.bus_id or None,
                "operations": len(of.collectives),
                "messages": len(of.messages),
            }
            for rank, of in one.ranks.items()
        ],
        "clock": str(part.times.clock) if part.times else None,
        "operations": [_row(row) for row in part.rows],
        "lateness": [
            {
                "rank": late.rank,
                "waits": late.times,
                "operations": late.operations,
                "typical_ms": late.typical_ns / 1e6,
                "most_ms": late.most_ns / 1e6,
                "share": late.share,
                "late": late.is_late,
            }
            for late in part.lateness
        ],
        "slow_channels": [
            {"channel": each.channel, "ranks": list(each.ranks), "factor": each.factor, "operations": each.operations}
            for each in part.slow_channels
        ],
        "sends": [_sends(each) for each in part.sends],
    }


def _row(row: ReportRow) -> dict[str, Any]:
    used, beside = row.used, row.forecast
    return {
        "function": used.function,
        "dtype": used.dtype,
        "bytes": used.bytes,
        "count": used.count,
        "captured": used.captured,
        "chosen": [{**_choice(choice), "count": count} for choice, count in used.choices],
        "took_us": used.took_us,
        "busbw_gb_per_s": used.busbw_gb_per_s,
        "forecast": None
        if beside is None
        else {
            "algorithm": str(beside.row.algorithm),
            "protocol": str(beside.row.protocol),
            "channels": beside.row.channels,
            "time_us": beside.row.time_us,
            "busbw_gb_per_s": beside.row.busbw_gb_per_s,
            "bound_gb_per_s": beside.bound_gb_per_s,
            "host": beside.host or None,
        },
    }


def _choice(choice: NcclChoice) -> dict[str, Any]:
    return {
        "algorithm": choice.algorithm or None,
        "protocol": choice.protocol or None,
        "channels": choice.channels or None,
    }


def _sends(one: Sends) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "channel": one.channel,
        "peer": one.peer,
        "steps": one.steps,
        "bytes": one.bytes,
        "gb_per_s": one.gb_per_s,
        "device": one.device,
    }
