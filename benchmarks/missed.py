# SPDX-License-Identifier: Apache-2.0
"""Every target that the committed results miss, worst first: `python -m benchmarks.missed` writes missed.md."""

import pathlib

from benchmarks.gpu_vs_nccl.results import Results as GpuResults
from benchmarks.gpu_vs_nccl.table import share_of_goal
from benchmarks.gpu_vs_nccl.targets import LARGE, OF_COPIES, wanted
from benchmarks.host_collectives.markdown import byte_text, lines
from benchmarks.host_collectives.results import read
from benchmarks.host_collectives.targets import find_result

HERE = pathlib.Path(__file__).parent
PAGE = HERE / "missed.md"
HEAD = """# Missed targets

Written by `python -m benchmarks.missed` from the committed samples; worst first. The first column is what was reached
as a share of what is wanted."""
HOST = HERE / "host_collectives/results"
GPU = HERE / "gpu_vs_nccl/results"
Row = tuple[float, list[str]]
"""What was reached as a share of what is wanted, and the cells."""


def page() -> str:
    """The whole page."""
    host = [row for path in files(HOST) for row in host_rows(path)]
    gpu = [row for path in files(GPU) for row in gpu_rows(path)]
    beside_peers = ["file", "collective", "ranks", "placement", "bytes", "times the best peer's speed", "wanted"]
    floor = ["of the floor's time", "wanted"]
    beside_nccl = ["file", "collective", "launch", "bytes", "of NCCL's time", "wanted", "of what copies move", "wanted"]
    parts = [
        HEAD,
        f"## host_collectives: {len(host)}",
        table([*beside_peers, *floor], host),
        f"## gpu_vs_nccl: {len(gpu)}",
        table(beside_nccl, gpu),
    ]
    return "\n\n".join(parts) + "\n"


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The results in a folder."""
    return sorted(folder.glob("*.jsonl"))


def table(columns: list[str], rows: list[Row]) -> str:
    """Worst first."""
    return lines(["share", *columns], [[f"{share:.3f}", *cells] for share, cells in sorted(rows)])


def host_rows(path: pathlib.Path) -> list[Row]:
    """Of one file of host_collectives."""
    found = []
    for group in read(path).groups:
        for placement in group.times:
            for size in group.sizes():
                result = find_result(group, placement, size)
                if result is None or result.reached:
                    continue
                target = result.target
                floor = f"{result.of_floor:.2f}" if result.of_floor and target.of_floor else "-"
                cells = [path.stem, group.collective, str(group.ranks), placement.replace("_", " "), byte_text(size)]
                cells += [f"{result.ratio:.2f} ({result.best_peer})", f"{target.ratio:g}"]
                found.append((result.share, [*cells, floor, f"{target.of_floor:.2f}" if target.of_floor else "-"]))
    return found


def gpu_rows(path: pathlib.Path) -> list[Row]:
    """Of one file of gpu_vs_nccl."""
    results, found = GpuResults.read(path), []
    over_host = bool(results.heading["p2p_off"] or results.heading["two_hosts"])
    for collective, launch in results.groups:
        for size in results.sizes(collective, launch):
            share = share_of_goal(results, collective, launch, size)
            ours = results.best_own_us(collective, launch, size)
            best = results.best_nccl_us(collective, launch, size)
            if share is None or share >= 1 or ours is None or best is None:
                continue
            goal = wanted(collective, size, launch, over_host=over_host)
            cells = [path.stem, collective, launch, byte_text(size), f"{ours / best:.3f}", f"{goal:g}"]
            copies = results.copies_gb_per_s if collective == "all_reduce" and size >= LARGE and not over_host else None
            of_copies = f"{results.busbw(collective, size, ours) / copies:.2f}" if copies else "-"
            found.append((share, [*cells, of_copies, f"{OF_COPIES:g}" if copies else "-"]))
    return found


if __name__ == "__main__":
    PAGE.write_text(page())
