# SPDX-License-Identifier: Apache-2.0
"""The summary as Markdown tables: `python -m benchmarks.gpu_vs_nccl.table RESULT.jsonl`."""

import pathlib
import sys

from benchmarks.gpu_vs_nccl.results import Results
from benchmarks.gpu_vs_nccl.targets import LARGE, OF_COPIES, wanted
from benchmarks.host_collectives.markdown import byte_text, lines, time_text


def render(results: Results) -> str:
    """A table for each collective and kind of launch, how many goals are reached, what was not measured."""
    parts = [_about(results), *(_group(results, *group) for group in results.groups), _summary(results)]
    parts += [
        f"not measured: {one['contender']}, {one['collective']}"
        + (f" from {byte_text(one['size'])} on" if one.get("size") else "")
        + f": {one['reason']}"
        for one in results.missing
    ]
    return "\n\n".join(part for part in parts if part)


def verdict(results: Results, collective: str, launch: str, size: int) -> bool | None:
    """Whether the goal is reached; None where it is unknown."""
    share = share_of_goal(results, collective, launch, size)
    return None if share is None else share >= 1


def share_of_goal(results: Results, collective: str, launch: str, size: int) -> float | None:
    """The result as a share of the goal, the lower one if there are two; None if unknown."""
    ours = results.best_own_us(collective, launch, size)
    best = results.best_nccl_us(collective, launch, size)
    if ours is None or best is None:
        return None
    over_host = _over_host(results)
    of_nccl = wanted(collective, size, launch, over_host=over_host) / (ours / best)
    if collective != "all_reduce" or size < LARGE or over_host:
        return of_nccl
    if results.copies_gb_per_s is None:
        return None
    return min(of_nccl, results.busbw(collective, size, ours) / (OF_COPIES * results.copies_gb_per_s))


def _about(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items() if version)
    copies = results.copies_gb_per_s
    limit = f"; copies in both directions at once {copies:.1f} GB/s each" if copies else ""
    how = [text for flag, text in (("p2p_off", "P2P off"), ("two_hosts", "two host ids")) if results.heading[flag]]
    return "; ".join([f"{results.heading['gpus']} x {results.heading['machine']['gpus']}: {versions}{limit}", *how])


def _group(results: Results, collective: str, launch: str) -> str:
    columns = ["bytes", *results.contenders, "our best / NCCL's", "goal", "busbw", "share of copies", "predicted busbw"]
    rows = [_row(results, collective, launch, size) for size in results.sizes(collective, launch)]
    return f"{collective}, by {launch}: us, medians of {results.heading['repetitions']}\n\n{lines(columns, rows)}"


def _row(results: Results, collective: str, launch: str, size: int) -> list[str]:
    times = [results.median_us(collective, launch, size, name) for name in results.contenders]
    ours = results.best_own_us(collective, launch, size)
    best = results.best_nccl_us(collective, launch, size)
    goal = wanted(collective, size, launch, over_host=_over_host(results))
    reached = verdict(results, collective, launch, size)
    busbw = ours and results.busbw(collective, size, ours)
    predicted = results.predicted.get((collective, size))
    return [
        byte_text(size),
        *map(time_text, times),
        f"{ours / best:.2f}" if ours and best else "-",
        f"{goal:g}: {'unknown' if reached is None else 'reached' if reached else 'not reached'}",
        f"{busbw:.1f}" if busbw else "-",
        f"{busbw / results.copies_gb_per_s:.2f}" if busbw and results.copies_gb_per_s else "-",
        f"{predicted:.1f}" if predicted else "-",
    ]


def _summary(results: Results) -> str:
    told = [
        reached
        for group in results.groups
        for size in results.sizes(*group)
        if (reached := verdict(results, *group, size)) is not None
    ]
    return f"{sum(told)} of {len(told)} goals reached"


def _over_host(results: Results) -> bool:
    return bool(results.heading["p2p_off"] or results.heading["two_hosts"])


if __name__ == "__main__":
    print(render(Results.read(pathlib.Path(sys.argv[1]))))
