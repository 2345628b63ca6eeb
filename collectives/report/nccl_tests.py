# SPDX-License-Identifier: Apache-2.0
"""nccl-tests' text: header, table and footer with its columns and widths (nccl-tests 2.19, util.cu), so that what
reads its output reads this too.
"""

import math
from collections.abc import Sequence

from railgauge import __version__
from railgauge.collectives.job import Job
from railgauge.collectives.measure import Row, Timing
from railgauge.transports.peer import Peer


def header(job: Job, peers: list[Peer], engine: Sequence[str] = ()) -> str:
    """The lines before the table; `engine` is the engine's description of itself."""
    step = f"{job.factor:g}(factor)" if job.factor > 1 else f"{job.step}(bytes)"
    devices = [f"#  Rank {p.rank:2d} Group {0:2d} Pid {p.pid:6d} on {p.host:>10} device {_memory(p)}" for p in peers]
    if job.trace:
        text = f"# Replay of {len(job.trace)} operations, warmup iters: {job.warmup} validation: {job.check}"
        return "\n".join([f"# railgauge version {__version__}", *engine, text, "#", "# Using devices", *devices, "#"])
    lines = [
        f"# railgauge version {__version__}",
        *engine,
        f"# Collective test starting: {job.collective}_perf",
        f"# nThread {job.threads} nGpus {job.ranks_per_thread} minBytes {job.begin} maxBytes {job.end} step: {step} "
        f"warmup iters: {job.warmup} iters: {job.iterations} agg iters: {job.aggregate} validation: {job.check} "
        f"graph: {job.replays} unalign: 0",
        "#",
        "# Using devices",
        *devices,
        "#",
        columns("", "", "", "", "") + "           out-of-place                       in-place          ",
        columns("size", "count", "type", "redop", "root")
        + 2 * measures("cputime" if job.cpu_time else "time", "algbw", "busbw", "#wrong")
        + " ",
        columns("(B)", "(elements)", "", "", "") + 2 * measures("(us)", "(GB/s)", "(GB/s)", "") + " ",
    ]
    return "\n".join(lines)


def _memory(peer: Peer) -> str:
    if peer.bus_id is None:
        return f"{peer.rank:2d} [host] host memory"
    return f"{peer.device:2d} [{peer.bus_id}] {peer.gpu}"


def columns(size: str, count: str, dtype: str, redop: str, root: str) -> str:
    """The left columns of the heading."""
    return f"# {size:>10}  {count:>12}  {dtype:>8}  {redop:>6}  {root:>6}"


def measures(time: str, algbw: str, busbw: str, wrong: str) -> str:
    """The columns of one result, out of place or in place."""
    return f"  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"


def line(row: Row) -> str:
    """One row of the table."""
    left = f"{row.bytes:12d}  {row.count:12d}  {row.dtype:>8}  {row.redop:>6}  {row.root:6d}"
    return left + _way(row.out_of_place) + _way(row.in_place)


def _way(timing: Timing) -> str:
    wrong = "N/A" if timing.wrong is None else f"{timing.wrong:g}"
    return measures(
        number(timing.time_us, 7), number(timing.algbw_gb_per_s, 6), number(timing.busbw_gb_per_s, 6), wrong
    )


def number(value: float, width: int) -> str:
    """A number with as many decimals as fit: two, one or none."""
    digits = 0 if value < 1 else int(math.log10(value)) + 1
    places = 2 if digits < width - 2 else 1 if digits < width - 1 else 0
    return f"{value:{width}.{places}f}" if digits <= width else f"{value:{width}.{int(width > 6)}e}"


def footer(job: Job, rows: list[Row], out_of_bounds: int, enough: bool | None) -> str:
    """The lines after the table; `enough` is whether the required bandwidth was reached, None without one."""
    verdict = "" if enough is None else "OK" if enough else "FAILED"
    return "\n".join(
        [
            f"# {'Out of bounds values':<20} : {out_of_bounds} {'FAILED' if out_of_bounds else 'OK'}",
            f"# {'Avg bus bandwidth':<20} : {average_busbw(rows) or 0.0:g} {verdict}",
            "#",
            f"# Collective test concluded: {job.collective}_perf",
            "",
            "#",
        ]
    )


def average_busbw(rows: list[Row]) -> float | None:
    """Mean bus bandwidth in GB/s over all rows, out of place and in place; None without rows."""
    values = [way.busbw_gb_per_s for row in rows for way in (row.out_of_place, row.in_place)]
    return sum(values) / len(values) if values else None
