# SPDX-License-Identifier: Apache-2.0
"""Draws a result: `python -m benchmarks.host_collectives.plot RESULT.jsonl PICTURE.svg` (the suffix picks the format).

Above, bus bandwidth over size on logarithmic axes, with the span of the repetitions and what railgauge predicts; below,
railgauge over the best peer. With several collectives or numbers of ranks a picture each, PICTURE.all_gather-2.svg, and
one over ranks, PICTURE.all_gather-over-ranks.svg.
"""

import pathlib
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
from benchmarks.host_collectives.curve import SIZES
from benchmarks.host_collectives.markdown import byte_text
from benchmarks.host_collectives.results import LIMIT, OWN, PLACEMENTS, Group, Results, read
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# One colour (Okabe and Ito's, which most eyes distinguish) and one marker each.
LOOK = {
    OWN: ("#d55e00", "o"),
    "openmpi": ("#0072b2", "s"),
    "openmpi-system": ("#56b4e9", "v"),
    "mpich": ("#009e73", "^"),
    "gloo": ("#cc79a7", "D"),
    LIMIT: ("#555555", None),
}
MEMORY = "limit: input read once, output written once"


def draw(results: Results, picture: pathlib.Path) -> list[pathlib.Path]:
    """Draw all pictures; their paths."""
    mpl.rcParams.update({"svg.hashsalt": "railgauge", "svg.fonttype": "none", "font.size": 9})
    figures = {f"{group.collective}-{group.ranks}": draw_group(group) for group in results.groups}
    for name in dict.fromkeys(group.collective for group in results.groups):
        along = [group for group in results.groups if group.collective == name]
        if len(along) > 1:
            figures[f"{name}-over-ranks"] = draw_over_ranks(along)
    paths = []
    for name, figure in figures.items():
        paths.append(picture if len(figures) == 1 else picture.with_suffix(f".{name}{picture.suffix}"))
        figure.tight_layout()
        figure.savefig(paths[-1], metadata={"Date": None} if picture.suffix == ".svg" else None, dpi=120)
    return paths


def draw_group(group: Group) -> Figure:
    """Both placements side by side."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), sharex=True, sharey="row", height_ratios=[2, 1])
    for column, placement in enumerate(PLACEMENTS):
        draw_bandwidth(group, placement, axes[0][column])
        draw_ratio(group, placement, axes[1][column])
    axes[0][0].set_ylabel("bus bandwidth, GB/s")
    axes[1][0].set_ylabel("railgauge over the best peer")
    fullest = max(axes[0], key=lambda axis: len(axis.lines))
    if fullest.lines:
        fullest.legend()
    figure.suptitle(f"{group.collective}, {group.ranks} ranks{on(group)}")
    return figure


def on(group: Group) -> str:
    """The title: ranks, hosts, collective."""
    heading, facts = group.heading, group.heading["machine"]
    hosts = f" on {group.hosts} hosts over TCP" if group.hosts > 1 else " in host memory"
    return (
        f"{hosts}, {heading['dtype']}: {facts['cpu']}, {facts['cores']} cores{', virtual' if facts['virtual'] else ''}"
    )


def draw_bandwidth(group: Group, placement: str, axis: Axes) -> None:
    """Medians as lines, the span of the repetitions as bands."""
    factor = group.factor / 1e3
    for name in group.programs(placement):
        samples = sorted(group.times[placement][name].items())
        sizes = [size for size, _ in samples]
        colour, marker = LOOK[name]
        medians = [size * factor / (group.median(placement, name, size) or 1) for size in sizes]
        limit = MEMORY if group.hosts == 1 else f"{group.heading['versions'][name]}, both directions at once"
        label = limit if name == LIMIT else name
        axis.plot(sizes, medians, color=colour, marker=marker, ms=4, ls="--" if name == LIMIT else "-", label=label)
        slowest = [size * factor / max(times) for size, times in samples]
        fastest = [size * factor / min(times) for size, times in samples]
        axis.fill_between(sizes, slowest, fastest, color=colour, alpha=0.2, lw=0)
    predicted = sorted(group.predicted_busbw.items())
    if predicted:
        axis.plot(*zip(*predicted, strict=True), color=LOOK[OWN][0], ls=":", label=f"{OWN}, predicted")
    axis.set(xscale="log", yscale="log", title=placement.replace("_", " "))
    axis.grid(alpha=0.3)


def draw_ratio(group: Group, placement: str, axis: Axes) -> None:
    """Above the line at 1 railgauge is faster."""
    found = [(size, group.over(placement, size, group.best_peer(placement, size))) for size in group.sizes()]
    known = [(size, ratio) for size, ratio in found if ratio is not None]
    axis.plot([size for size, _ in known], [ratio for _, ratio in known], color=LOOK[OWN][0], marker="o", ms=4)
    axis.axhline(1, color="black", lw=0.8)
    axis.set(xscale="log", yscale="log", xlabel="bytes")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    ticks = group.sizes()[:: max(1, len(group.sizes()) // 7)]
    axis.set_xticks(ticks, [byte_text(size) for size in ticks], rotation=30)
    axis.minorticks_on()
    axis.tick_params(axis="x", which="minor", bottom=False)
    axis.grid(alpha=0.3, which="both", axis="y")
    axis.grid(alpha=0.3, axis="x")


def draw_over_ranks(along: list[Group]) -> Figure:
    """Time over ranks in place, a panel a size."""
    sizes = [size for size in SIZES if all(size in group.sizes() for group in along)] or along[0].sizes()[:1]
    figure, axes = plt.subplots(1, len(sizes), figsize=(4 * len(sizes), 4), squeeze=False)
    for size, axis in zip(sizes, axes[0], strict=True):
        for name in along[0].programs("in_place"):
            times = [group.median("in_place", name, size) for group in along]
            axis.plot([group.ranks for group in along], times, color=LOOK[name][0], marker=LOOK[name][1], label=name)
        predicted = [group.predicted_us(size) for group in along]
        if any(predicted):
            axis.plot(
                [group.ranks for group in along], predicted, color=LOOK[OWN][0], ls=":", label=f"{OWN}, predicted"
            )
        axis.set(xscale="log", yscale="log", title=byte_text(size), xlabel="ranks")
        axis.set_xticks([group.ranks for group in along], [str(group.ranks) for group in along])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("us per operation, in place")
    axes[0][-1].legend()
    figure.suptitle(f"{along[0].collective} over ranks{on(along[0])}")
    return figure


if __name__ == "__main__":
    for path in draw(read(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])):
        print(f"plot in {path}", file=sys.stderr)
