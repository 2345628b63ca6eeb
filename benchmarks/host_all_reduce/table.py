# SPDX-License-Identifier: Apache-2.0
"""The summary as Markdown tables: `python -m benchmarks.host_all_reduce.table RESULT.jsonl`."""

import pathlib
import sys

from benchmarks.host_all_reduce.results import LIMIT, PLACEMENTS, Results, read


def render(results: Results) -> str:
    """One table per placement: medians, how many times railgauge's time a peer takes, the limit."""
    return "\n\n".join(render_placement(results, placement) for placement in PLACEMENTS)


def render_placement(results: Results, placement: str) -> str:
    """A table; in parentheses railgauge's bus bandwidth over the peer's (above 1: railgauge is ahead)."""
    heading = results.heading
    programs = results.programs(placement)
    columns = ["bytes", *(f"{name} {heading['versions'][name]}" if name != LIMIT else name for name in programs)]
    columns += ["over the best peer", "ahead of it"]
    lines = [
        f"{placement.replace('_', ' ')}, {heading['ranks']} ranks, {heading['dtype']} {heading['redop']}: "
        f"us per operation, median of {heading['repetitions']}",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    for size in results.sizes():
        cells = [cell(results, placement, name, size) for name in programs]
        lines.append("| " + " | ".join([byte_text(size), *cells, *versus_best(results, placement, size)]) + " |")
    return "\n".join(lines)


def cell(results: Results, placement: str, name: str, size: int) -> str:
    """A median, with the ratio where the program is a peer."""
    median = results.median(placement, name, size)
    own = results.median(placement, "railgauge", size)
    if median is None:
        return "-"
    ratio = f" ({median / own:.2f})" if own and name not in ("railgauge", LIMIT) else ""
    return f"{median:.{2 if median < 100 else 0}f}{ratio}"


def versus_best(results: Results, placement: str, size: int) -> list[str]:
    """The ratio to the best peer, and in how many repetitions railgauge was ahead of that one."""
    best = results.best_peer(placement, size)
    own = results.times[placement].get("railgauge", {}).get(size)
    if best is None or not own:
        return ["-", "-"]
    theirs = results.times[placement][best][size]
    ahead = sum(mine < other for mine, other in zip(own, theirs, strict=True))
    ratio = (results.median(placement, best, size) or 0) / (results.median(placement, "railgauge", size) or 1)
    return [f"{ratio:.2f} ({best})", f"{ahead} of {len(own)}"]


def byte_text(size: int) -> str:
    """A size in the largest unit that divides it."""
    for unit, letter in ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return f"{size} B"


if __name__ == "__main__":
    print(render(read(pathlib.Path(sys.argv[1]))))
