# SPDX-License-Identifier: Apache-2.0
"""Time over the number of ranks, where a run has several."""

from benchmarks.host_collectives.markdown import byte_text, lines, time_text
from benchmarks.host_collectives.results import OWN, PLACEMENTS, Group

SIZES = (8, 32, 2**16, 2**20, 2**24)
"""Those that are shown, as far as they were measured."""


def render_curves(groups: list[Group]) -> list[str]:
    """A table per collective and placement with a column for each number of ranks."""
    curves: dict[tuple[str, int], list[Group]] = {}
    for group in groups:
        curves.setdefault((group.collective, group.hosts), []).append(group)
    return [render(along, placement) for along in curves.values() if len(along) > 1 for placement in PLACEMENTS]


def render(along: list[Group], placement: str) -> str:
    """Medians of every program, and railgauge's predicted times."""
    rows = []
    for size in SIZES:
        for name in along[0].programs(placement):
            times = [group.median(placement, name, size) for group in along]
            rows.append([byte_text(size), name, *map(time_text, times)])
            if name == OWN:
                predicted = [group.predicted_us(size) for group in along]
                rows.append([byte_text(size), "predicted", *map(time_text, predicted)])
    rows = [row for row in rows if set(row[2:]) != {"-"}]
    columns = ["bytes", "program", *(f"{group.ranks} ranks" for group in along)]
    what = f"{along[0].collective} {placement.replace('_', ' ')} over ranks: us per operation"
    return f"{what}\n\n{lines(columns, rows)}" if rows else ""
