# SPDX-License-Identifier: Apache-2.0
"""The look that the charts share: a row of three panels for each group of samples, one legend, one way to write sizes.

The panels: bus bandwidth over size on logarithmic axes, for all sizes; the same on a linear axis for the large sizes,
where a factor of two shows; and a ratio. Every line of a chart is in the legend, once.
"""

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from benchmarks.host_collectives.markdown import byte_text
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LARGE = 2**20
"""Bytes from which on the linear panel shows the samples."""
Band = tuple[list[float], list[float]]
"""The least and the most of the samples of each size."""


def sheet(rows: int) -> tuple[Figure, list[list[Axes]]]:
    """A figure of so many rows; in each the logarithmic, the linear and the ratio panel."""
    mpl.rcParams.update({"svg.hashsalt": "railgauge", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(rows, 3, figsize=(14, 3.3 * rows + 1.6), squeeze=False)
    return figure, [list(row) for row in axes]


def line(
    axis: Axes, points: Mapping[int, float], label: str, look: Mapping[str, Any], band: Band | None = None
) -> None:
    """Values by size, and the span of the samples as a band."""
    if not points:
        return
    axis.plot(list(points), list(points.values()), label=label, **{"ms": 4} | dict(look))
    if band:
        axis.fill_between(list(points), *band, color=str(look["color"]), alpha=0.2, lw=0)


def bandwidth_panels(name: str, sizes: Iterable[int], logarithmic: Axes, linear: Axes) -> None:
    """Axes, ticks and titles of the two panels of bus bandwidth; the lines are drawn already."""
    sizes = sorted(sizes)
    logarithmic.set(title=f"{name}: all sizes", xscale="log", yscale="log", ylabel="bus bandwidth, GB/s")
    linear.set(title=f"{name}: large sizes, linear", xscale="log", ylabel="bus bandwidth, GB/s", ylim=(0, None))
    logarithmic.yaxis.set_major_formatter(lambda value, _: np.format_float_positional(value, 6, trim="-"))
    logarithmic.yaxis.set_minor_formatter("")
    size_ticks(logarithmic, sizes)
    size_ticks(linear, [size for size in sizes if size >= LARGE] or sizes)


def ratio_panel(name: str, sizes: Iterable[int], axis: Axes, what: str) -> None:
    """Axes, ticks and title of the panel of a ratio, with a line where both are equal."""
    sizes = sorted(sizes)
    axis.axhline(1, color="black", lw=0.8, label="equal")
    axis.set(title=f"{name}: ratio", xscale="log", ylabel=what)
    axis.set_ylim(0, 1.05 * axis.get_ylim()[1])
    size_ticks(axis, sizes)


def size_ticks(axis: Axes, sizes: list[int]) -> None:
    """Ticks at 1 KiB, 32 KiB, 1 MiB, ...; where the sizes span less than 4096 times, at 1 MiB, 4 MiB, ...."""
    first, last = sizes[0], sizes[-1]
    step = 5 if last >= first << 12 else 2
    ticks = [2**power for power in range(0, 64, step) if first <= 2**power <= last] or sizes
    axis.set_xticks(ticks, [byte_text(tick) for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_xlim(first * 0.8, last * 1.25)
    axis.grid(alpha=0.3)


def save(figure: Figure, title: str, picture: pathlib.Path) -> None:
    """Put title and legend above the panels and write the file; its suffix is the format."""
    found: dict[str, Artist] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    inch = 1 / figure.get_figheight()
    figure.text(0.5, 1 - 0.1 * inch, title, ha="center", va="top", fontsize=11)
    figure.legend(found.values(), found, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1 - 0.5 * inch))
    figure.tight_layout(rect=(0, 0, 1, 1 - 1.1 * inch), h_pad=2)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None, dpi=120)
    plt.close(figure)
