# SPDX-License-Identifier: Apache-2.0
"""The summary as Markdown tables: `python -m benchmarks.host_collectives.table RESULT.jsonl`."""

import pathlib
import sys
from collections.abc import Iterable
from typing import Any

from benchmarks.host_collectives.curve import render_curves
from benchmarks.host_collectives.markdown import byte_text, lines, time_text
from benchmarks.host_collectives.results import FROM_PYTHON, LIMIT, OWN, PLACEMENTS, Group, Results, read
from benchmarks.host_collectives.targets import summary, verdict


def render(results: Results) -> str:
    """A table per collective, ranks and placement; curves over ranks; calls from Python; what was not measured."""
    parts = [render_placement(group, placement) for group in results.groups for placement in PLACEMENTS]
    parts += render_curves(results.groups)
    parts += [render_calls(group) for group in results.groups]
    parts += [summary(results.groups), "\n".join(map(missing_text, results.missing))]
    return "\n\n".join(part for part in parts if part)


def render_placement(group: Group, placement: str) -> str:
    """Medians; in parentheses the peer's time over railgauge's (above 1: railgauge is ahead)."""
    programs = group.programs(placement)
    if not programs:
        return ""
    heading = group.heading
    columns = ["bytes", *(f"{name} {heading['versions'][name]}" for name in programs)]
    columns += ["predicted (measured over it)", "over the best peer", "faster in", "wanted"]
    rows = [row(group, placement, programs, size) for size in group.sizes()]
    return f"{title(group, placement)}: us per operation, median of {heading['repetitions']}\n\n{lines(columns, rows)}"


def title(group: Group, placement: str) -> str:
    """The title of a table."""
    hosts = f", {group.hosts} hosts" if group.hosts > 1 else ""
    return f"{group.collective} {placement.replace('_', ' ')}, {group.ranks} ranks{hosts}, {group.heading['dtype']}"


def row(group: Group, placement: str, programs: Iterable[str], size: int) -> list[str]:
    """One size."""
    cells = [cell(group, placement, name, size) for name in programs]
    wanted = verdict(group, placement, size)
    return [byte_text(size), *cells, predicted(group, placement, size), *versus_best(group, placement, size), wanted]


def cell(group: Group, placement: str, name: str, size: int) -> str:
    """A median, with the ratio where the program is a peer."""
    median = group.median(placement, name, size)
    ratio = group.over(placement, size, name)
    return time_text(median) + (f" ({ratio:.2f})" if ratio and name not in (OWN, LIMIT) else "")


def predicted(group: Group, placement: str, size: int) -> str:
    """The cost model's prediction, and the measured time over it."""
    us, own = group.predicted_us(size), group.median(placement, OWN, size)
    return f"{time_text(us)} ({own / us:.2f})" if us and own else "-"


def versus_best(group: Group, placement: str, size: int) -> list[str]:
    """The ratio to the best peer, and in how many turns railgauge was faster than that one."""
    best = group.best_peer(placement, size)
    ratio = group.over(placement, size, best)
    if best is None or ratio is None:
        return ["-", "-"]
    own, theirs = (group.times[placement][name][size] for name in (OWN, best))
    turns = [mine < other for mine, other in zip(own, theirs, strict=False)]  # a run cut short has one more of one
    return [f"{ratio:.2f} ({best})", f"{sum(turns)} of {len(turns)}"]


def render_calls(group: Group) -> str:
    """The time of a call from Python, beside the loop in C of the same library."""
    versions = group.heading["versions"]
    names = [name for name in versions if name.endswith(FROM_PYTHON) and group.times["in_place"].get(name)]
    rows = [
        [byte_text(size), placement.replace("_", " "), *(call(group, placement, name, size) for name in names)]
        for placement in PLACEMENTS
        for size in group.sizes()
        if any(group.median(placement, name, size) for name in names)
    ]
    columns = ["bytes", "placement", *(f"{name} {versions[name]}" for name in names)]
    what = f"{group.collective} called from Python on NumPy arrays, {group.ranks} ranks: us per call (its loop in C)"
    return f"{what}\n\n{lines(columns, rows)}" if rows else ""


def call(group: Group, placement: str, name: str, size: int) -> str:
    """The time from Python, with that from C."""
    in_c = group.median(placement, name.removesuffix(FROM_PYTHON), size)
    return f"{time_text(group.median(placement, name, size))} ({time_text(in_c)})"


def missing_text(record: dict[str, Any]) -> str:
    """Why a program was not measured."""
    what = f"{record['collective']} of {byte_text(record['bytes'])} and more on {record['ranks']} ranks"
    return f"not measured: {record['peer']}, {what}: {record['reason']}"


if __name__ == "__main__":
    print(render(read(pathlib.Path(sys.argv[1]))))
