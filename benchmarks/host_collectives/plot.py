# SPDX-License-Identifier: Apache-2.0
"""Draws a result: `python -m benchmarks.host_collectives.plot RESULT.jsonl PICTURE.svg` (the suffix picks the format).

A row for each placement: bus bandwidth over size with the span of the repetitions and what railgauge predicts, the
large sizes on a linear axis, and railgauge's speed over that of the best peer. With several collectives or numbers of
ranks a picture each, PICTURE.all_gather-2.svg, and one over ranks, PICTURE.all_gather-over-ranks.svg.
"""

import pathlib
import sys

import matplotlib.pyplot as plt
from benchmarks import chart
from benchmarks.host_collectives.curve import SIZES
from benchmarks.host_collectives.markdown import byte_text
from benchmarks.host_collectives.results import LIMIT, OWN, PLACEMENTS, Group, Results, read
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LOOK = {
    OWN: {"color": "#d55e00", "marker": "o"},
    "openmpi": {"color": "#0072b2", "marker": "s"},
    "openmpi-system": {"color": "#56b4e9", "marker": "v"},
    "mpich": {"color": "#009e73", "marker": "^"},
    "gloo": {"color": "#cc79a7", "marker": "D"},
    LIMIT: {"color": "#555555", "ls": "--"},
}
"""A colour (Okabe and Ito's, which most eyes distinguish) and a marker each."""
PREDICTED = {"color": LOOK[OWN]["color"], "ls": ":"}
MEMORY = "limit: input read once, output written once"


def draw(results: Results, picture: pathlib.Path) -> list[pathlib.Path]:
    """Draw all pictures; their paths."""
    figures = {f"{group.collective}-{group.ranks}": draw_group(group) for group in results.groups}
    for name in dict.fromkeys(group.collective for group in results.groups):
        along = [group for group in results.groups if group.collective == name]
        if len(along) > 1:
            figures[f"{name}-over-ranks"] = draw_over_ranks(along)
    paths = []
    for name, (title, figure) in figures.items():
        paths.append(picture if len(figures) == 1 else picture.with_suffix(f".{name}{picture.suffix}"))
        chart.save(figure, title, paths[-1])
    return paths


def draw_group(group: Group) -> tuple[str, Figure]:
    """A row for each placement; with its title."""
    figure, axes = chart.sheet(len(PLACEMENTS))
    for placement, (logarithmic, linear, ratio) in zip(PLACEMENTS, axes, strict=True):
        name = placement.replace("_", " ")
        draw_bandwidth(group, placement, logarithmic, linear)
        chart.bandwidth_panels(name, group.sizes(), logarithmic, linear)
        found = {size: group.over(placement, size, group.best_peer(placement, size)) for size in group.sizes()}
        known = {size: ratio for size, ratio in found.items() if ratio is not None}
        chart.line(ratio, known, "railgauge over the best peer", LOOK[OWN] | {"color": "black"})
        chart.ratio_panel(name, group.sizes(), ratio, "speed over the best peer (more is faster)")
    return f"{group.collective}, {group.ranks} ranks{on(group)}", figure


def on(group: Group) -> str:
    """The title: ranks, hosts, collective."""
    heading, facts = group.heading, group.heading["machine"]
    hosts = f" on {group.hosts} hosts over TCP" if group.hosts > 1 else " in host memory"
    return (
        f"{hosts}, {heading['dtype']}: {facts['cpu']}, {facts['cores']} cores{', virtual' if facts['virtual'] else ''}"
    )


def draw_bandwidth(group: Group, placement: str, *panels: Axes) -> None:
    """Medians as lines, the span of the repetitions as bands."""
    factor = group.factor / 1e3
    for axis, least in zip(panels, (0, chart.LARGE), strict=True):
        for name in group.programs(placement):
            samples = {size: us for size, us in sorted(group.times[placement][name].items()) if size >= least}
            if name == LIMIT and group.hosts == 1 and axis is panels[1]:
                continue  # the caches' 100 GB/s would flatten all else on a linear axis
            medians = {size: size * factor / (group.median(placement, name, size) or 1) for size in samples}
            slow, fast = ([size * factor / pick(us) for size, us in samples.items()] for pick in (max, min))
            limit = MEMORY if group.hosts == 1 else f"{group.heading['versions'][name]}, both directions at once"
            label = {LIMIT: limit, OWN: OWN}.get(name, f"{name} {group.heading['versions'][name]}")
            chart.line(axis, medians, label, LOOK[name], (slow, fast))
        predicted = {size: gb for size, gb in sorted(group.predicted_busbw.items()) if size >= least}
        chart.line(axis, predicted, f"{OWN}, predicted", PREDICTED)


def draw_over_ranks(along: list[Group]) -> tuple[str, Figure]:
    """Time over ranks in place, a panel a size; with its title."""
    sizes = [size for size in SIZES if all(size in group.sizes() for group in along)] or along[0].sizes()[:1]
    figure, axes = plt.subplots(1, len(sizes), figsize=(4 * len(sizes), 5), squeeze=False)
    for size, axis in zip(sizes, axes[0], strict=True):
        for name in along[0].programs("in_place"):
            times = {group.ranks: us for group in along if (us := group.median("in_place", name, size))}
            chart.line(axis, times, name, LOOK[name])
        predicted = {group.ranks: us for group in along if (us := group.predicted_us(size))}
        chart.line(axis, predicted, f"{OWN}, predicted", PREDICTED)
        axis.set(xscale="log", yscale="log", title=byte_text(size), xlabel="ranks")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_xticks([group.ranks for group in along], [str(group.ranks) for group in along])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("us per operation, in place")
    return f"{along[0].collective} over ranks{on(along[0])}", figure


if __name__ == "__main__":
    for path in draw(read(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])):
        print(f"plot in {path}", file=sys.stderr)
