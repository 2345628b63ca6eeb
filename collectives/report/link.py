# SPDX-License-Identifier: Apache-2.0
"""Measured links (railgauge/link/1): as text for each transport a matrix of bandwidth and one of latency, and a summary
of comparable pairs; as a document, and as CSV.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from railgauge.collectives.device import Device
from railgauge.collectives.link.bisection import Bisection
from railgauge.collectives.link.judgement import kinds
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.pair_result import PairResult, Route
from railgauge.topo.errors import verdict_of
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.render.findings import record
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.values.node_names import folded

MOST_IN_MATRIX = 16
CELL = 9
NUMBERED = ("rank ", "GPU ")
"""Prefixes of names that contain the number."""


def link_lines(result: LinkResult, findings: Sequence[Finding], width: int | None) -> Iterator[Line]:
    """Everything but the findings, whose ranks are highlighted; matrices only if they fit the width (None: any)."""
    yield line(_who(result), Ink.HEADING)
    yield line(_what(result))
    if result.bisection:
        yield from _bisection(result, result.bisection)
        return
    odd = _odd(findings)
    for alike in _by_way(result.links):
        ranks = sorted({rank for link in alike for rank in link.ranks})
        if 2 < len(ranks) <= MOST_IN_MATRIX and (width is None or _row_width(result, ranks) <= width):
            yield ()
            yield from _matrices(result, alike, ranks, odd)
    yield ()
    for alike in kinds(result.links).values():
        yield from _summary(result, alike)


def _who(result: LinkResult) -> str:
    hosts = len({each.host for each in result.ranks})
    if result.job.device is Device.CUDA:
        return f"{len(result.ranks)} GPUs of {result.ranks[0].host}"
    return f"{len(result.ranks)} ranks on {hosts} host{'s' * (hosts > 1)}"


def _what(result: LinkResult) -> str:
    job = result.job
    if result.bisection:
        return (
            f"bisection: halves pass {size_text(job.bytes)} round a ring, {job.iterations} times; every byte verified"
        )
    long, short = size_text(job.bytes), size_text(job.latency_bytes)
    times = f"{job.turns * job.times} x {long} each direction, {job.turns * job.short_times} round trips of {short}"
    return f"{times}, the best of {job.turns} turns; every byte verified"


def _bisection(result: LinkResult, found: Bisection) -> Iterator[Line]:
    for number, step in enumerate(found.steps, 1):
        halves = (f"{folded(result.name(rank) for rank in half.ranks)} {half.gb_per_s:.3g} GB/s" for half in step)
        yield line(f"step {number}: {'; '.join(halves)}")


def _by_way(links: Sequence[PairResult]) -> list[list[PairResult]]:
    found: dict[Route, list[PairResult]] = {}
    for link in links:
        found.setdefault(link.way, []).append(link)
    return list(found.values())


def _odd(findings: Sequence[Finding]) -> set[tuple[str, frozenset[int]]]:
    """What stands out: the quantity, and the rank or both ends of the link."""
    return {
        (str(finding.evidence["quantity"]), frozenset(finding.evidence["ranks"]))
        for finding in findings
        if finding.level in (Level.WARN, Level.FAIL)
    }


def _row_width(result: LinkResult, ranks: Sequence[int]) -> int:
    return max(len(_label(result, rank)) for rank in ranks) + CELL * len(ranks)


def _label(result: LinkResult, rank: int) -> str:
    name = result.name(rank)
    return name if name.startswith(NUMBERED) else f"{rank} {name}"


def _matrices(
    result: LinkResult, alike: Sequence[PairResult], ranks: Sequence[int], odd: set[tuple[str, frozenset[int]]]
) -> Iterator[Line]:
    one_way: dict[tuple[int, int], float] = {}
    both_ways: dict[tuple[int, int], float] = {}
    latency: dict[tuple[int, int], float] = {}
    for link in alike:
        (a, b), (there, back) = link.ranks, link.gb_per_s
        one_way |= {(a, b): there, (b, a): back}
        both_ways |= dict.fromkeys(((a, b), (b, a)), link.both_ways_gb_per_s)
        latency |= dict.fromkeys(((a, b), (b, a)), link.latency_us)
    way = alike[0].way_name
    yield from _matrix(
        result, f"{way}: GB/s, one direction, from row to column", ranks, one_way, _marked(odd, "bandwidth")
    )
    if result.job.device is Device.CUDA:
        yield ()
        yield from _matrix(result, f"{way}: GB/s each direction, both at once", ranks, both_ways, [])
    yield ()
    yield from _matrix(result, f"{way}: us, half of a round trip", ranks, latency, _marked(odd, "latency"))


def _marked(odd: set[tuple[str, frozenset[int]]], quantity: str) -> list[frozenset[int]]:
    return [ranks for name, ranks in odd if name == quantity]


def _matrix(
    result: LinkResult,
    title: str,
    ranks: Sequence[int],
    values: dict[tuple[int, int], float],
    odd: Sequence[frozenset[int]],
) -> Iterator[Line]:
    yield line(title, Ink.HEADING)
    column = max(len(_label(result, rank)) for rank in ranks)
    yield line(" " * column + "".join(f"{rank:>{CELL}}" for rank in ranks), Ink.HEADING)
    for row in ranks:
        row_line: list[tuple[str, Ink]] = [(f"{_label(result, row):<{column}}", Ink.HEADING)]
        for at in ranks:
            value = values.get((row, at))
            style = (
                Ink.STRONG_BAD if any(ends <= {row, at} for ends in odd) else Ink.QUIET if value is None else Ink.PLAIN
            )
            row_line.append((f"{'-' if value is None else _number(value):>{CELL}}", style))
        yield row_line


def _number(value: float) -> str:
    """Three significant digits, and whole numbers from 100 on."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def _summary(result: LinkResult, alike: Sequence[PairResult]) -> Iterator[Line]:
    """Comparable pairs: range and median, beside the prediction."""
    first = alike[0]
    place = "between hosts" if first.crosses else "on one NUMA node" if first.one_numa else "on one host"
    if first.path:
        place = f"over {first.path.label}"
    shared = f", {first.sharing} at a time on one interface" if first.sharing > 1 else ""
    shared += ", more ranks than cores" if first.crowded else ""
    yield line(f"{first.way_name} {place}: {len(alike)} pair{'s' * (len(alike) > 1)}{shared}; medians", Ink.HEADING)
    speeds = [(speed, link.ranks[::step]) for link in alike for speed, step in zip(link.gb_per_s, (1, -1), strict=True)]
    yield line(f"  one direction   {_beside(speeds, first.predicted_gb_per_s, 'GB/s')}{_range(result, speeds, '->')}")
    both = median(link.both_ways_gb_per_s for link in alike)
    yield line(f"  both directions {both:.3g} GB/s each")
    times = [(link.latency_us, link.ranks) for link in alike]
    yield line(f"  latency         {_beside(times, first.predicted_latency_us, 'us')}{_range(result, times, '-')}")


Values = Sequence[tuple[float, tuple[int, ...]]]
"""Each with its ranks."""


def _beside(values: Values, predicted: float | None, unit: str) -> str:
    """The median, beside the prediction."""
    usual = median(value for value, _ in values)
    if predicted is None:
        return f"{_number(usual)} {unit}"
    return f"{_number(usual)} {unit}, {usual / predicted:.2f} of the predicted {predicted:.3g}"


def _range(result: LinkResult, values: Values, between: str) -> str:
    """The lowest and highest value and their pairs; empty for a single value."""
    if len(values) == 1:
        return ""
    named = (
        f"{_number(value)} ({f' {between} '.join(_short(result, rank) for rank in ranks)})"
        for value, ranks in (min(values), max(values))
    )
    return f"; {' to '.join(named)}"


def _short(result: LinkResult, rank: int) -> str:
    """The name without the word before the number."""
    name = result.name(rank)
    return name.split(" ", 1)[1] if name.startswith(NUMBERED) else name


def link_document(result: LinkResult, findings: Sequence[Finding]) -> dict[str, Any]:
    """The document without its head; a link for each direction."""
    job, halves = result.job, result.bisection
    return {
        "status": verdict_of(result.error),
        "error": result.error,
        "bytes": job.bytes,
        "latency_bytes": job.latency_bytes,
        "iterations": job.iterations,
        "device": job.device,
        "one_at_a_time": job.one_at_a_time,
        "ranks": [asdict(each) for each in result.ranks],
        "links": [entry for link in result.links for entry in directions(link)],
        "bisection": halves and asdict(halves),
        "findings": [record(finding) for finding in findings],
    }


def directions(link: PairResult) -> list[dict[str, Any]]:
    """A pair as two entries, from the lower rank to the higher and back."""
    low, high = link.ranks
    predicted, moved, path = link.predicted_gb_per_s, link.moved, link.path
    return [
        {
            "from": source,
            "to": target,
            "transport": link.transport,
            "rail": link.rail,
            "by": None if link.method is None else link.method.label,
            "path_type": path and path.type,
            "nvlinks": path and path.nvlinks,
            "via": link.via[way],
            "planned": link.planned[way],
            "round": link.round,
            "sharing": link.sharing,
            "crowded": link.crowded,
            "measured": link.measured,
            "gb_per_s": link.gb_per_s[way],
            "predicted_gb_per_s": predicted,
            "ratio": link.gb_per_s[way] / predicted if predicted else None,
            "both_ways_gb_per_s": link.both_ways_gb_per_s,
            "latency_us": link.latency_us,
            "predicted_latency_us": link.predicted_latency_us,
            "wrong": link.wrong[way],
            "bytes_planned": moved and moved.each_way,
            "bytes_sent": moved and moved.sent[way],
            "bytes_received": moved and moved.received[way],
        }
        for way, (source, target) in enumerate(((low, high), (high, low)))
    ]


def csv_text(result: LinkResult) -> str:
    """A header, then one line per direction of each link (RFC 4180)."""
    rows = [
        entry | {"from_host": result.ranks[entry["from"]].host, "to_host": result.ranks[entry["to"]].host}
        for link in result.links
        for entry in directions(link)
    ]
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
