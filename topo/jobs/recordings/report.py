# SPDX-License-Identifier: Apache-2.0
"""The report on a job's recordings: what each communicator did, beside a machine's forecast, and what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.hang import OPERATION_MISMATCH
from railgauge.topo.findings.cards.recordings import (
    ALGORITHM_DIFFERS,
    CHANNEL_SLOW,
    NIC_SLOW,
    OPERATION_SLOW,
    RANK_LATE,
    RECORDS_LOST,
)
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.verdict import HangVerdict, verdict
from railgauge.topo.jobs.judge.judge import GOOD
from railgauge.topo.jobs.recordings.aligned import Aligned, aligned
from railgauge.topo.jobs.recordings.evidence import job_state
from railgauge.topo.jobs.recordings.faults import MachineFaults
from railgauge.topo.jobs.recordings.forecasts import Forecasted, JobForecasts, elsewhere
from railgauge.topo.jobs.recordings.job import CommunicatorRanks, RecordedJob
from railgauge.topo.jobs.recordings.lateness import RankLateness, lateness
from railgauge.topo.jobs.recordings.machines import JobMachines
from railgauge.topo.jobs.recordings.slow_channels import SlowChannel, slow_channels
from railgauge.topo.jobs.recordings.slow_sends import Sends, SlowSends, all_sends, slow_sends
from railgauge.topo.jobs.recordings.usage import NcclChoice, UsageRow, usage
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.values.node_names import folded

NO_MACHINES = JobMachines()
LARGE = 1 << 20
"""Bytes from which bandwidth counts, not latency."""
LONGEST_SECONDS = 10.0
"""A job whose newest record is not older runs: that its ranks are apart says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """Equal operations beside their forecast; None without a machine, or where it has none."""

    used: UsageRow
    forecast: Forecasted | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunicatorReport:
    """One communicator. times: None if fewer than two ranks were recorded, or their hosts' clocks are `apart_ns` apart,
    which is 0 otherwise.
    """

    communicator: CommunicatorRanks
    rows: tuple[ReportRow, ...]
    times: Aligned | None
    apart_ns: int
    lateness: tuple[RankLateness, ...]
    slow_channels: tuple[SlowChannel, ...]
    sends: tuple[Sends, ...]
    slow_sends: tuple[SlowSends, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """A job. why_no_forecast: "" with one. hang: what its ranks wait for, and
    notes on that, such as calls that have not returned; runs: it was recorded until now.
    """

    job: RecordedJob
    communicators: tuple[CommunicatorReport, ...]
    hang: HangVerdict
    notes: tuple[str, ...]
    runs: bool
    why_no_forecast: str
    findings: tuple[Finding, ...]


def report(job: RecordedJob, machines: JobMachines = NO_MACHINES, now_s: float | None = None) -> JobReport:
    """The report; now_s: Unix time, None if the recordings are not those of now."""
    forecasts = JobForecasts(machines) if machines.is_known else None
    why = "" if machines.is_known else "no machine: --from MACHINE gives a forecast"
    parts = []
    for one in job.communicators:
        part, missing = _communicator(one, forecasts)
        parts.append(part)
        why = why or missing
    faults = MachineFaults(machines)
    runs = now_s is not None and 0 <= now_s - _newest_s(job) < LONGEST_SECONDS
    scene = job_state(job)
    hang = verdict(scene)
    found = [finding for part in parts for finding in _findings(part, forecasts, faults)]
    found += [one for one in hang.findings if not runs or one.id == OPERATION_MISMATCH.id]
    found += _lost(job)
    found += _unknown(job, machines)
    return JobReport(
        job=job,
        communicators=tuple(parts),
        hang=hang,
        notes=(*elsewhere(job, machines), *(() if runs else scene.notes)),
        runs=runs,
        why_no_forecast=why,
        findings=tuple(sorted(found, key=lambda one: ORDER.index(one.level))),
    )


ORDER = (Level.FAIL, Level.WARN, Level.UNKNOWN, Level.INFO, Level.PASS)


def _newest_s(job: RecordedJob) -> float:
    """Unix time of the newest record."""
    newest = [int(one.records["start_ns"].max()) + one.offset_ns for one in job.recordings if one.records.size]
    return max(newest, default=0) / 1e9


def _communicator(one: CommunicatorRanks, forecasts: JobForecasts | None) -> tuple[CommunicatorReport, str]:
    times, why, rows = aligned(one), "", []
    apart_ns = times.apart_ns if times else 0
    times = None if apart_ns else times
    for row in usage(one, times):
        beside = None
        try:
            beside = forecasts.of(one, row) if forecasts else None
        except Error as error:
            why = str(error)
        rows.append(ReportRow(used=row, forecast=beside))
    sends = all_sends(one)
    part = CommunicatorReport(
        communicator=one,
        rows=tuple(rows),
        times=times,
        apart_ns=apart_ns,
        lateness=tuple(lateness(times)) if times else (),
        slow_channels=tuple(slow_channels(one, times)),
        sends=tuple(sends),
        slow_sends=tuple(slow_sends(sends)),
    )
    return part, why


def _findings(part: CommunicatorReport, forecasts: JobForecasts | None, faults: MachineFaults) -> Iterator[Finding]:
    title = part.communicator.title
    for why in _not_compared(part):
        yield RANK_LATE.finding(Level.UNKNOWN, title, f"{title}: {why}", fix=False)
    for late in part.lateness:
        if late.is_late:
            yield _late(part, late, faults)
    for row in part.rows:
        if finding := _slow(part, row, faults):
            yield finding
    for channel in part.slow_channels:
        hosts = dict.fromkeys(part.communicator.ranks[rank].recording.host for rank in channel.ranks)
        planned = {host: _planned(part, channel.channel, host, forecasts) for host in hosts}
        nics = dict.fromkeys(name for names in planned.values() for name in names)
        over = f" (over {', '.join(nics)} by the plan)" if nics else ""
        message = (
            f"channel {channel.channel}{over} takes {channel.factor:.2g} times as long as the others on "
            f"{named(channel.ranks)}, in {channel.operations} operations{faults.of(planned)}"
        )
        evidence = {"channel": channel.channel, "ranks": list(channel.ranks), "factor": channel.factor}
        yield CHANNEL_SLOW.finding(Level.WARN, title, message, evidence=evidence)
    for slow in part.slow_sends:
        yield _slow_sends(part, slow, forecasts, faults)
    if finding := _differs(part):
        yield finding


def _not_compared(part: CommunicatorReport) -> Iterator[str]:
    """What keeps ranks from being compared, in words."""
    one = part.communicator
    if missing := [rank for rank in range(one.size) if rank not in one.ranks]:
        yield f"no recording of {named(missing)}: whether the others wait there is unknown"
    if part.apart_ns:
        seconds = max(round(part.apart_ns / 1e9), 1)
        yield (
            f"the clocks of {folded(one.hosts)} differ by {seconds} s or more: calls are not compared; "
            "--level channel needs no such clocks (chronyc tracking shows theirs)"
        )


def _late(part: CommunicatorReport, late: RankLateness, faults: MachineFaults) -> Finding:
    of = part.communicator.ranks[late.rank]
    where = f"{of.recording.title}" + (f", GPU {of.communicator.bus_id}" if of.communicator.bus_id else "")
    times = part.times
    by_calls = times is not None and times.ended is None
    how = f"{late.times} of {late.operations} operations"
    long = f"typically {_ms(late.typical_ns)} ms (most {_ms(late.most_ns)} ms"
    if by_calls:
        message = (
            f"rank {late.rank} ({where}) called {how} after the others, {long}); --level channel shows any waiting"
        )
    else:
        message = f"the others wait for rank {late.rank} ({where}) in {how}, {long}; {times.clock if times else ''})"
    message += faults.of({of.recording.host: (of.communicator.bus_id,)})
    evidence = {
        "rank": late.rank,
        "host": of.recording.host,
        "times": late.times,
        "operations": late.operations,
        "typical_ms": late.typical_ns / 1e6,
        "most_ms": late.most_ns / 1e6,
        "share": late.share,
    }
    effect = "" if by_calls else f"{late.share:.0%} of the time"
    return RANK_LATE.finding(
        Level.INFO if by_calls else Level.WARN, part.communicator.title, message, effect=effect, evidence=evidence
    )


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g}" if ns < 1e9 else f"{ns / 1e6:.0f}"


def _slow(part: CommunicatorReport, row: ReportRow, faults: MachineFaults) -> Finding | None:
    used, beside = row.used, row.forecast
    reached = used.busbw_gb_per_s
    if beside is None or reached is None or used.bytes < LARGE or reached >= GOOD * beside.best_gb_per_s:
        return None
    top = beside.row.busbw_gb_per_s
    message = (
        f"{used.function} of {size_text(used.bytes)} {used.dtype}: {reached:.4g} GB/s busbw after all ranks have come, "
        f"{reached / top:.0%} of the forecast of {top:.4g} GB/s"
    )
    if beside.host:
        message += (
            f" with all hosts like {beside.host}, {reached / beside.best_gb_per_s:.0%} of {beside.best_gb_per_s:.4g} "
            f"GB/s like the fastest{faults.of({beside.host: _links_of(faults.machines.of(beside.host))})}"
        )
    evidence = {"bytes": used.bytes, "reached_gb_per_s": reached, "forecast_gb_per_s": top}
    return OPERATION_SLOW.finding(Level.WARN, part.communicator.title, message, evidence=evidence)


def _links_of(machine: Machine | None) -> list[str]:
    """The bus ids of a machine's GPUs and the names of its NICs."""
    if machine is None:
        return []
    return [gpu.bus_id or "" for gpu in machine.system.gpus] + [names_of(net)[-1] for net in machine.system.nets]


def _slow_sends(
    part: CommunicatorReport, slow: SlowSends, forecasts: JobForecasts | None, faults: MachineFaults
) -> Finding:
    sends, ranks = slow.sends, part.communicator.ranks
    host = ranks[sends.rank].recording.host
    peer = ranks[sends.peer].recording.host if sends.peer in ranks else ""
    nics = _nics(part, sends, forecasts, faults.machines)
    to = _planned(part, sends.channel, peer, forecasts) if peer and faults.machines.is_cluster else ()
    by = f" by {', '.join(nics)}" if nics else f" by NIC {sends.device}" if sends.device is not None else ""
    message = (
        f"the network takes the sends of rank {sends.rank} on {host} to rank {sends.peer}{f' on {peer}' * bool(peer)} "
        f"on channel {sends.channel}{by} with {sends.gb_per_s:.3g} GB/s, those of the others with "
        f"{slow.others_gb_per_s:.3g} GB/s ({sends.steps} steps){faults.of({host: nics, peer: to})}"
    )
    evidence = {
        "rank": sends.rank,
        "peer": sends.peer,
        "channel": sends.channel,
        "device": sends.device,
        "gb_per_s": sends.gb_per_s,
        "others_gb_per_s": slow.others_gb_per_s,
    }
    return NIC_SLOW.finding(Level.WARN, part.communicator.title, message, evidence=evidence)


def _nics(
    part: CommunicatorReport, sends: Sends, forecasts: JobForecasts | None, machines: JobMachines
) -> tuple[str, ...]:
    """The NIC that the sends name, else those that the plan gives the channel."""
    host = part.communicator.ranks[sends.rank].recording.host
    machine = machines.of(host)
    if machine and sends.device is not None:
        return tuple(names_of(net)[-1] for net in machine.system.nets if net.dev == sends.device)
    return _planned(part, sends.channel, host, forecasts)


def _planned(part: CommunicatorReport, channel: int, host: str, forecasts: JobForecasts | None) -> tuple[str, ...]:
    """The NICs of a host that the plan gives a channel."""
    return forecasts.nics(part.communicator, channel, host) if forecasts else ()


def _differs(part: CommunicatorReport) -> Finding | None:
    different = []
    for row in part.rows:
        if row.forecast and row.used.choices and not same_choice(row.used.choices[0][0], row.forecast):
            planned = row.forecast.row
            expected = NcclChoice(planned.algorithm.upper(), planned.protocol.upper(), planned.channels)
            different.append((row, expected))
    if not different:
        return None
    row, expected = different[-1]
    more = f", and {len(different) - 1} more" if len(different) > 1 else ""
    message = (
        f"{row.used.function} of {size_text(row.used.bytes)}: {row.used.choices[0][0].text}; the forecast has "
        f"{expected.text}{more}"
    )
    return ALGORITHM_DIFFERS.finding(Level.INFO, part.communicator.title, message, evidence={"rows": len(different)})


def same_choice(choice: NcclChoice, beside: Forecasted) -> bool:
    """Whether NCCL chose what the forecast has; the number of channels counts where it is known."""
    planned = beside.row
    same = (
        choice.algorithm.replace("_", "").lower() == planned.algorithm and choice.protocol.lower() == planned.protocol
    )
    return same and choice.channels in (0, planned.channels)


def _unknown(job: RecordedJob, machines: JobMachines) -> Iterator[Finding]:
    for hosts, why in machines.unknown(job.hosts):
        yield OPERATION_SLOW.finding(Level.UNKNOWN, hosts, f"{hosts}: {why}", fix=False)


def _lost(job: RecordedJob) -> Iterator[Finding]:
    if missing := [*job.unread, *job.repeated]:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield RECORDS_LOST.finding(Level.UNKNOWN, "recordings", f"left out: {missing[0]}{more}", fix=False)
    if not job.communicators:
        none = "no communicator is recorded: NCCL made none yet, or was ended before"
        yield RECORDS_LOST.finding(Level.UNKNOWN, "recordings", none, fix=False)
    short = [one for one in job.recordings if one.lost]
    if short:
        records = sum(one.lost for one in short)
        kept = sum(int(np.size(one.records)) for one in short)
        message = f"{records} records of {len(short)} processes are lost, {kept} are kept"
        yield RECORDS_LOST.finding(Level.INFO, "recordings", message, evidence={"lost": records, "kept": kept})
