# SPDX-License-Identifier: Apache-2.0
"""Draws a result: `python -m benchmarks.gpu_vs_nccl.plot RESULT.jsonl PICTURE.svg`.

For each collective and kind of launch, above: bus bandwidth over size with the span of the samples; below: our time
over that of NCCL's best, with the goal.
"""

import pathlib
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
from benchmarks.gpu_vs_nccl.results import OWN, OWN_SYMMETRIC, Results
from benchmarks.gpu_vs_nccl.targets import wanted
from benchmarks.host_collectives.markdown import byte_text
from matplotlib.axes import Axes

LOOK = {
    OWN: ("#d55e00", "o"),
    OWN_SYMMETRIC: ("#e69f00", "v"),
    "nccl": ("#0072b2", "s"),
    "nccl-registered": ("#009e73", "^"),
    "nccl-symmetric": ("#cc79a7", "D"),
}
"""A colour (Okabe and Ito's) and a marker each."""


def draw(results: Results, picture: pathlib.Path) -> None:
    """A column for each collective and kind of launch."""
    mpl.rcParams.update({"svg.hashsalt": "railgauge", "svg.fonttype": "none", "font.size": 9})
    groups = results.groups
    figure, axes = plt.subplots(
        2, len(groups), figsize=(4.5 * len(groups), 7), sharex="col", squeeze=False, height_ratios=[2, 1]
    )
    for column, group in enumerate(groups):
        _bandwidth(results, group, axes[0][column])
        _ratio(results, group, axes[1][column])
    axes[0][0].set_ylabel("bus bandwidth, GB/s")
    axes[1][0].set_ylabel("our time over NCCL's best")
    axes[0][0].legend()
    figure.suptitle(f"{results.heading['gpus']} x {results.heading['machine']['gpus']}, float32")
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None, dpi=120)


def _bandwidth(results: Results, group: tuple[str, str], axis: Axes) -> None:
    collective, launch = group
    for name in results.contenders:
        samples = [(size, results.samples.get((*group, size, name))) for size in results.sizes(*group)]
        known = [(size, times) for size, times in samples if times]
        sizes = [size for size, _ in known]
        medians = [results.busbw(collective, size, results.median_us(*group, size, name) or 1) for size in sizes]
        colour, marker = LOOK[name]
        axis.plot(sizes, medians, color=colour, marker=marker, ms=4, label=f"{name} {results.versions.get(name, '')}")
        spans = [[results.busbw(collective, size, pick(times)) for size, times in known] for pick in (max, min)]
        axis.fill_between(sizes, *spans, color=colour, alpha=0.2, lw=0)
    if results.copies_gb_per_s:
        axis.axhline(results.copies_gb_per_s, color="#555555", ls="--", lw=0.8, label="copies, both directions at once")
    axis.set(xscale="log", yscale="log", title=f"{collective}, {launch}")
    axis.grid(alpha=0.3)


def _ratio(results: Results, group: tuple[str, str], axis: Axes) -> None:
    collective, launch = group
    over_host = bool(results.heading["p2p_off"] or results.heading["two_hosts"])
    sizes = results.sizes(*group)
    found = [(size, results.best_own_us(*group, size), results.best_nccl_us(*group, size)) for size in sizes]
    known = [(size, ours / best) for size, ours, best in found if ours and best]
    goals = [wanted(collective, size, launch, over_host=over_host) for size, _ in known]
    measured = [size for size, _ in known]
    axis.plot(measured, [ratio for _, ratio in known], color=LOOK[OWN][0], marker="o", ms=4)
    axis.plot(measured, goals, color="#555555", ls="--", drawstyle="steps-mid")
    axis.axhline(1, color="black", lw=0.8)
    ticks = sizes[:: max(1, len(sizes) // 6)]
    axis.set(xscale="log", xlabel="bytes")
    axis.set_xticks(ticks, [byte_text(size) for size in ticks], rotation=30)
    axis.minorticks_off()
    axis.grid(alpha=0.3)


if __name__ == "__main__":
    draw(Results.read(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]))
