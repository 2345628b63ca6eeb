# SPDX-License-Identifier: Apache-2.0
"""A timeline of a communicator's last operations, a row for each rank: waiting for the last rank, then at work."""

from collections.abc import Iterator

from railgauge.topo.jobs.recordings.aligned import Aligned
from railgauge.topo.jobs.recordings.report import CommunicatorReport
from railgauge.topo.render import palette
from railgauge.topo.render.markup import SANS, Paint, escape, picture, px, themed

MOST_OPERATIONS, MOST_RANKS = 24, 64
WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 960.0, 76.0, 16.0, 56.0, 18.0, 34.0
LEAST = 1.5
"""Pixels of the shortest bar."""
TICKS = 5
PAINT: tuple[Paint, ...] = (
    (".page", "fill", palette.PAGE),
    ("text", "fill", palette.TEXT),
    (".quiet", "fill", palette.QUIET),
    (".grid", "stroke", palette.GRID),
    (".waits", "fill", palette.LOADS["idle"]),
    (".works", "fill", palette.OUT_OF_PLACE),
    (".last", "fill", palette.IN_PLACE),
)
STYLE = f"text {{ font: 12px {SANS} }} .title {{ font-size: 15px; font-weight: 600 }} .end {{ text-anchor: end }}"


def timeline(part: CommunicatorReport) -> str:
    """The picture; "" if fewer than two ranks were recorded."""
    times = part.times
    if times is None or not times.began.size:
        return ""
    ranks = _shown(part, times)
    first = max(0, times.began.shape[1] - MOST_OPERATIONS)
    height = TOP + ROW * len(ranks) + BOTTOM
    title = f"{part.communicator.title}: the last {times.began.shape[1] - first} operations"
    body = [
        f'<text class="title" x="{px(LEFT)}" y="22">{escape(title)}</text>',
        f'<text class="quiet" x="{px(LEFT)}" y="40">{escape(_legend(times))}</text>',
        *_bars(times, ranks, first, height),
    ]
    about = f"A row for each rank, by {times.clock}"
    return picture((WIDTH, height), title, about, f"{STYLE}\n{themed(PAINT)}", body)


def _legend(times: Aligned) -> str:
    if times.ended is None:
        return f"when each rank called ({times.clock}); the last one of each operation in another colour"
    return f"light: waits for the last rank; dark: at work; the last rank in another colour ({times.clock})"


def _shown(part: CommunicatorReport, times: Aligned) -> list[int]:
    """The places of the ranks that are shown: the costliest where there are many."""
    order = sorted(range(len(times.ranks)), key=lambda place: -part.lateness[place].share)
    return sorted(order[:MOST_RANKS])


def _bars(times: Aligned, ranks: list[int], first: int, height: float) -> Iterator[str]:
    began = times.began[:, first:]
    ended = times.ended[:, first:] if times.ended is not None else None
    start, last = int(began.min()), times.last[first:]
    span = max(int((ended if ended is not None else began).max()) - start, 1)
    scale = (WIDTH - LEFT - RIGHT) / span

    for tick in range(TICKS + 1):
        x = LEFT + (WIDTH - LEFT - RIGHT) * tick / TICKS
        yield f'<line class="grid" x1="{px(x)}" x2="{px(x)}" y1="{px(TOP)}" y2="{px(height - BOTTOM)}"/>'
        anchor = ' class="quiet end"' if tick == TICKS else ' class="quiet"'
        yield f'<text{anchor} x="{px(x)}" y="{px(height - 12)}">{span * tick / TICKS / 1e6:.3g} ms</text>'
    for row, place in enumerate(ranks):
        y = TOP + ROW * row
        yield f'<text class="end" x="{px(LEFT - 8)}" y="{px(y + 12)}">rank {times.ranks[place]}</text>'
        for column in range(began.shape[1]):
            came, all_came = int(began[place, column]), int(began[:, column].max())
            kind = "last" if last[column] == place else "works"
            x = LEFT + (came - start) * scale
            if ended is None:
                yield _bar(kind, x, LEAST, y)
                continue
            if all_came > came:
                yield _bar("waits", x, (all_came - came) * scale, y)
            through = max(int(ended[place, column]) - all_came, 0)
            yield _bar(kind, LEFT + (all_came - start) * scale, max(through * scale, LEAST), y)


def _bar(kind: str, x: float, width: float, y: float) -> str:
    return f'<rect class="{kind}" x="{px(x)}" y="{px(y + 2)}" width="{px(width)}" height="{px(ROW - 4)}"/>'
