# SPDX-License-Identifier: Apache-2.0
"""Railgauge's targets beside its peers, and whether a result reaches them."""

import dataclasses

from benchmarks.host_collectives.results import LIMIT, Group

KIB, MIB = 2**10, 2**20
NOT_REACHED, NOT_MEASURED = "not reached", "not measured"


@dataclasses.dataclass(frozen=True)
class Target:
    """At these sizes: the speed over the best peer's, and the largest multiple of the floor's time."""

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
    """The targets there; none if ranks have to share cores."""
    if group.ranks > group.heading["machine"]["cores"]:
        return None
    for target in TARGETS:
        here = group.collective in target.collectives and group.hosts == target.hosts
        if here and target.smallest <= size <= target.largest:
            return target
    return None


@dataclasses.dataclass(frozen=True)
class Result:
    """The result at one size, beside its targets."""

    target: Target
    best_peer: str
    ratio: float
    """To the best peer."""
    of_floor: float | None
    """Of the floor's time; None where that was not measured."""

    @property
    def reached(self) -> bool:
        """Whether all targets there are reached."""
        return self.share >= 1

    @property
    def share(self) -> float:
        """The lower of both figures as a share of the target; 0 if there is a target for the floor and it was not
        measured.
        """
        peer = self.ratio / self.target.ratio
        if not self.target.of_floor:
            return peer
        return min(peer, self.target.of_floor / self.of_floor) if self.of_floor else 0.0


def find_result(group: Group, placement: str, size: int) -> Result | None:
    """None without targets, or if railgauge or every peer is missing."""
    target, best = find_target(group, size), group.best_peer(placement, size)
    ratio = group.over(placement, size, best)
    if target is None or best is None or ratio is None:
        return None
    floor = group.over(placement, size, LIMIT)
    return Result(target, best, ratio, 1 / floor if floor else None)


def verdict(group: Group, placement: str, size: int) -> str:
    """The target and whether it is reached, for the table."""
    result = find_result(group, placement, size)
    if result is None:
        return "-"
    target, of_floor = result.target, result.of_floor
    found = [f"{target.ratio:g} x: {reached(result.ratio >= target.ratio)}"]
    if target.of_floor:
        how = f"{reached(of_floor <= target.of_floor)} ({of_floor:.2f})" if of_floor else NOT_MEASURED
        found.append(f"{target.of_floor:.2g} of the floor: {how}")
    return "; ".join(found)


def reached(yes: bool) -> str:
    """In words."""
    return "reached" if yes else NOT_REACHED


def summary(groups: list[Group]) -> str:
    """How many of the targets with a result are reached."""
    results = [
        result
        for group in groups
        for placement in group.times
        for size in group.sizes()
        if (result := find_result(group, placement, size))
    ]
    return f"{sum(result.reached for result in results)} of {len(results)} targets reached"
