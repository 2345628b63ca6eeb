# SPDX-License-Identifier: Apache-2.0
"""Bytes planned and seen, link by link, as a table. The reason for FAIL or UNKNOWN is in the finding."""

from collections.abc import Sequence

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic

HEADING = ("host", "link", "direction", "planned (B)", "seen (B)", "ratio", "verdict")
NONE = "-"
MOST_LINES = 64
WORST_FIRST = (Level.FAIL, Level.UNKNOWN, Level.INFO, Level.PASS)


def traffic_lines(traffic: Sequence[LinkTraffic]) -> list[str]:
    """A heading, and a line for each link and direction; of more than MOST_LINES the worst."""
    shown = traffic
    if len(traffic) > MOST_LINES:
        shown = sorted(traffic, key=lambda one: WORST_FIRST.index(one.level))[:MOST_LINES]
    rows = [HEADING, *map(_cells, shown)]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = len(traffic) - len(shown)
    return [*(_line(row, wide) for row in rows), *([f"... and {left} more (--json has all)"] if left else [])]


def _cells(one: LinkTraffic) -> tuple[str, ...]:
    seen = NONE if one.seen_bytes is None else str(one.seen_bytes)
    ratio = NONE if one.ratio is None else f"{one.ratio:.3f}"
    planned = str(one.planned_bytes) if one.planned_bytes else NONE
    verdict = f"{one.level} {one.why}".rstrip() if one.level in (Level.PASS, Level.INFO) else str(one.level)
    return one.host, one.link, one.way, planned, seen, ratio, verdict


def _line(row: Sequence[str], wide: Sequence[int]) -> str:
    cells = (
        f"{cell:>{width}}" if 3 <= place <= 5 else f"{cell:<{width}}"
        for place, (cell, width) in enumerate(zip(row, wide, strict=True))
    )
    return "  ".join(cells).rstrip()
