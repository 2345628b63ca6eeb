# SPDX-License-Identifier: Apache-2.0
"""Draws a result: `python -m benchmarks.gpu_vs_nccl.plot RESULT.jsonl PICTURE.svg [COLLECTIVE ...]`.

A row for each collective and kind of launch: bus bandwidth over size with the span of the samples, the large sizes on
a linear axis, and our time over that of NCCL's best, with the goal.
"""

import pathlib
import sys

from benchmarks import chart
from benchmarks.gpu_vs_nccl.results import OWN, OWN_SYMMETRIC, Results
from benchmarks.gpu_vs_nccl.targets import wanted
from matplotlib.axes import Axes

LOOK = {
    OWN: {"color": "#d55e00", "marker": "o"},
    OWN_SYMMETRIC: {"color": "#e69f00", "marker": "v", "ls": "--", "mfc": "white"},
    "nccl": {"color": "#0072b2", "marker": "s"},
    "nccl-registered": {"color": "#009e73", "marker": "^", "ls": "--", "mfc": "white"},
    "nccl-symmetric": {"color": "#cc79a7", "marker": "D"},
}
"""A colour (Okabe and Ito's) and a marker each; dashed and hollow what often lies on the one before."""
LAUNCHED = {"stream": "on a stream", "graph": "in CUDA graphs"}


def draw(results: Results, picture: pathlib.Path, collectives: list[str]) -> None:
    """A row for each kind of launch of these collectives; of all without any."""
    groups = [group for group in results.groups if not collectives or group[0] in collectives]
    figure, axes = chart.sheet(len(groups))
    for group, (logarithmic, linear, ratio) in zip(groups, axes, strict=True):
        name = f"{group[0]} {LAUNCHED[group[1]]}"
        _bandwidth(results, group, logarithmic, linear)
        chart.bandwidth_panels(name, results.sizes(*group), logarithmic, linear)
        _ratio(results, group, ratio)
        chart.ratio_panel(name, results.sizes(*group), ratio, "time over NCCL's best (less is faster)")
    chart.save(figure, _title(results), picture)


def _title(results: Results) -> str:
    heading = results.heading
    multicast = {"0": "off for NCCL (NCCL_NVLS_ENABLE=0)"}.get(heading["settings"].get("NCCL_NVLS_ENABLE"), "not set")
    how = [text for flag, text in (("p2p_off", "P2P off"), ("two_hosts", "two hosts over sockets")) if heading[flag]]
    what = ", ".join([f"{heading['gpus']} x {heading['machine']['gpus']}", heading["dtype"], *how])
    return f"{what}\nNVLink multicast (NVLS): {multicast}; railgauge does not use it"


def _bandwidth(results: Results, group: tuple[str, str], *panels: Axes) -> None:
    for axis, least in zip(panels, (0, chart.LARGE), strict=True):
        sizes = [size for size in results.sizes(*group) if size >= least]
        for name in results.contenders:
            times = {size: found for size in sizes if (found := results.samples.get((*group, size, name)))}
            medians = {
                size: results.busbw(group[0], size, us)
                for size in times
                if (us := results.median_us(*group, size, name))
            }
            slow, fast = (
                [results.busbw(group[0], size, pick(found)) for size, found in times.items()] for pick in (max, min)
            )
            version = results.versions.get(name, "")
            chart.line(axis, medians, f"{name} {version}".strip(), LOOK[name], (slow, fast))
        if results.copies_gb_per_s:
            limit = results.copies_gb_per_s
            axis.axhline(limit, color="#555555", ls="--", lw=0.8, label="limit: copies, both directions at once")


def _ratio(results: Results, group: tuple[str, str], axis: Axes) -> None:
    over_host = bool(results.heading["p2p_off"] or results.heading["two_hosts"])
    found = {
        size: ours / best
        for size in results.sizes(*group)
        if (ours := results.best_own_us(*group, size)) and (best := results.best_nccl_us(*group, size))
    }
    goals = {size: wanted(group[0], size, group[1], over_host=over_host) for size in found}
    chart.line(axis, found, "railgauge's best over NCCL's best", LOOK[OWN] | {"color": "black"})
    chart.line(axis, goals, "goal", {"color": "#555555", "ls": ":", "drawstyle": "steps-mid"})


if __name__ == "__main__":
    draw(Results.read(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]), sys.argv[3:])
