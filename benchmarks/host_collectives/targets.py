# SPDX-License-Identifier: Apache-2.0
"""What railgauge wants to reach beside its peers, and whether a result does."""

import dataclasses

from benchmarks.host_collectives.results import LIMIT, OWN, Group

KIB, MIB = 2**10, 2**20
NOT_REACHED, NOT_MEASURED = "not reached", "not measured"


@dataclasses.dataclass(frozen=True)
class Target:
    """At these sizes: so many times as fast as the best peer, and at most so many times the floor's time."""

    collectives: tuple[str, ...]
    hosts: int
    smallest: int
    largest: float
    ratio: float
    of_floor: float | None = None


ONLY_ALL_REDUCE = ("all_reduce",)
OTHERS = ("all_gather", "reduce_scatter", "broadcast", "alltoall")
TARGETS = (
    Target(ONLY_ALL_REDUCE, 1, 8, 8, 1.0),
    Target(ONLY_ALL_REDUCE, 1, KIB, 64 * KIB, 1.2),
    Target(ONLY_ALL_REDUCE, 1, MIB, MIB, 2.5),
    Target(ONLY_ALL_REDUCE, 1, 16 * MIB, float("inf"), 1.8, 1.3),
    Target(OTHERS, 1, 64 * KIB, float("inf"), 1.5),
    Target(ONLY_ALL_REDUCE, 2, MIB, float("inf"), 1.2, 1 / 0.9),
)


def find_target(group: Group, size: int) -> Target | None:
    """What is wanted there; nothing where ranks have to share cores."""
    if group.ranks > group.heading["machine"]["cores"]:
        return None
    for target in TARGETS:
        here = group.collective in target.collectives and group.hosts == target.hosts
        if here and target.smallest <= size <= target.largest:
            return target
    return None


def verdict(group: Group, placement: str, size: int) -> str:
    """The target and whether it is reached, for the table."""
    target = find_target(group, size)
    ratio = group.over(placement, size, group.best_peer(placement, size))
    if target is None or ratio is None:
        return "-"
    found = [f"{target.ratio:g} x: {reached(ratio >= target.ratio)}"]
    of_floor = group.over(placement, size, LIMIT)
    if target.of_floor:
        how = f"{reached(1 / of_floor <= target.of_floor)} ({1 / of_floor:.2f})" if of_floor else NOT_MEASURED
        found.append(f"{target.of_floor:.2g} of the floor: {how}")
    return "; ".join(found)


def reached(yes: bool) -> str:
    """In words."""
    return "reached" if yes else NOT_REACHED


def summary(groups: list[Group]) -> str:
    """How many of the targets with a result are reached."""
    verdicts = [
        text
        for group in groups
        for placement in group.times
        for size in group.sizes()
        if group.median(placement, OWN, size) and (text := verdict(group, placement, size)) != "-"
    ]
    met = sum(NOT_REACHED not in text and NOT_MEASURED not in text for text in verdicts)
    return f"{met} of {len(verdicts)} targets reached"
