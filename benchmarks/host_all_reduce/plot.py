# SPDX-License-Identifier: Apache-2.0
"""Draws a result: `python -m benchmarks.host_all_reduce.plot RESULT.jsonl PICTURE.svg` (the suffix picks the format).

Above, bus bandwidth over size on logarithmic axes, with the span of the repetitions; below, railgauge over the best
peer.
"""

import pathlib
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
from benchmarks.host_all_reduce.results import LIMIT, PLACEMENTS, Results, read
from benchmarks.host_all_reduce.table import byte_text
from matplotlib.axes import Axes

# One colour (Okabe and Ito's, told apart by most eyes) and one marker each.
LOOK = {
    "railgauge": ("#d55e00", "o"),
    "openmpi": ("#0072b2", "s"),
    "mpich": ("#009e73", "^"),
    "gloo": ("#cc79a7", "D"),
    LIMIT: ("#555555", None),
}


def draw(results: Results, picture: pathlib.Path) -> None:
    """Draw both placements side by side."""
    mpl.rcParams.update({"svg.hashsalt": "railgauge", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), sharex=True, sharey="row", height_ratios=[2, 1])
    for column, placement in enumerate(PLACEMENTS):
        draw_bandwidth(results, placement, axes[0][column])
        draw_ratio(results, placement, axes[1][column])
    axes[0][0].set_ylabel("bus bandwidth, GB/s")
    axes[1][0].set_ylabel("railgauge over the best peer")
    axes[0][1].legend()  # in place is what every program has
    figure.suptitle(title(results))
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None, dpi=120)


def title(results: Results) -> str:
    """What was run where."""
    heading, facts = results.heading, results.heading["machine"]
    what = f"all-reduce in host memory, {heading['ranks']} ranks, {heading['dtype']} {heading['redop']}"
    return f"{what}: {facts['cpu']}, {facts['cores']} cores{', virtual' if facts['virtual'] else ''}"


def draw_bandwidth(results: Results, placement: str, axis: Axes) -> None:
    """Medians as lines, the span of the repetitions as bands."""
    factor = 2 * (results.heading["ranks"] - 1) / results.heading["ranks"] / 1e3
    for name in results.programs(placement):
        samples = sorted(results.times[placement][name].items())
        sizes = [size for size, _ in samples]
        colour, marker = LOOK[name]
        medians = [size * factor / (results.median(placement, name, size) or 1) for size in sizes]
        label = "limit: input read once, output written once" if name == LIMIT else name
        axis.plot(sizes, medians, color=colour, marker=marker, ms=4, ls="--" if name == LIMIT else "-", label=label)
        slowest = [size * factor / max(times) for size, times in samples]
        fastest = [size * factor / min(times) for size, times in samples]
        axis.fill_between(sizes, slowest, fastest, color=colour, alpha=0.2, lw=0)
    axis.set(xscale="log", yscale="log", title=placement.replace("_", " "))
    axis.grid(alpha=0.3)


def draw_ratio(results: Results, placement: str, axis: Axes) -> None:
    """Above the line at 1 railgauge is ahead."""
    sizes, ratios = [], []
    for size in results.sizes():
        best = results.best_peer(placement, size)
        own = results.median(placement, "railgauge", size)
        if best and own:
            sizes.append(size)
            ratios.append((results.median(placement, best, size) or 0) / own)
    axis.plot(sizes, ratios, color=LOOK["railgauge"][0], marker="o", ms=4)
    axis.axhline(1, color="black", lw=0.8)
    axis.set(xscale="log", yscale="log", xlabel="bytes")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    ticks = results.sizes()[:: max(1, len(results.sizes()) // 7)]
    axis.set_xticks(ticks, [byte_text(size) for size in ticks], rotation=30)
    axis.minorticks_on()
    axis.tick_params(axis="x", which="minor", bottom=False)
    axis.grid(alpha=0.3, which="both", axis="y")
    axis.grid(alpha=0.3, axis="x")


if __name__ == "__main__":
    draw(read(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]))
