# SPDX-License-Identifier: Apache-2.0
"""Which algorithm runs a collective between ranks on host memory, by size: the quickest of those that may be used.

The times are the cost model's (host_cost.py), or measured ones (collectives/tuning_file.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias, TypeVar

from railgauge.collectives.cost.host_cost import ON_SEGMENTS, algorithms, host_cost
from railgauge.collectives.cost.host_ranks import HostRanks
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.nccl.settings.algorithms import Allowed

Times: TypeAlias = Mapping[Algorithm, Mapping[int, float]]
"""Of one collective, by algorithm and size in bytes, in microseconds."""
Way = TypeVar("Way")
MODEL_SIZES = tuple(1 << power for power in range(3, 33))
"""The sizes for which the model is evaluated: 8 B to 4 GiB."""
ANY_SIZE = 1 << 62
MIN_CHANNEL_BYTES = 64 << 10
"""A channel carries this much before another one is used: less data is done before a second one has started."""
WORTH_A_CHANGE = 0.95
"""An algorithm replaces the previous one if it needs less than this share of its time: measured times of equal
algorithms differ by as much, and the list of choices stays short."""


def candidates(collective: Collective, allowed: Allowed, hosts: Sequence[int], *, trees: bool) -> list[Algorithm]:
    """The algorithms that may run it, restricted by NCCL_ALGO too; never empty. `hosts` are the numbers of ranks that
    share memory.

    NCCL_ALGO names rings and trees, so it excludes all others; if nothing remains for the collective, it is ignored.
    """
    there = [one for one in algorithms(collective, hosts) if trees or one is not Algorithm.TREE]
    if allowed.algorithms.get(collective) is None:
        return there
    on_wires = [one for one in there if one not in ON_SEGMENTS]
    return [one for one in on_wires if allowed.algorithm(collective, one)] or on_wires[:1]


def modelled(where: HostRanks, collective: Collective, usable: tuple[Algorithm, ...]) -> Times:
    """The cost model's times."""
    return {one: {size: host_cost(where, collective, one, size).time_us for size in MODEL_SIZES} for one in usable}


def quickest(times: Mapping[Way, Mapping[int, float]]) -> list[tuple[int, Way]]:
    """Up to which size which algorithm is the quickest, by growing size; the last one is for all larger sizes.

    An algorithm counts at the sizes that it was timed at.
    """
    best: list[tuple[int, Way]] = []
    for size in sorted({size for by_size in times.values() for size in by_size}):
        there = {one: by_size[size] for one, by_size in times.items() if size in by_size}
        first = min(there, key=there.__getitem__)
        before = best[-1][1] if best else first
        stays = before in there and there[first] >= WORTH_A_CHANGE * there[before]
        best.append((size, before if stays else first))
    runs = [(max(size for size, _ in run), one) for one, run in groupby(best, key=lambda at: at[1])]
    return [*runs[:-1], (ANY_SIZE, runs[-1][1])]


@lru_cache(maxsize=256)
def quickest_by_model(
    where: HostRanks, collective: Collective, usable: tuple[Algorithm, ...]
) -> Sequence[tuple[int, Algorithm]]:
    """The same by the cost model; kept, since a job makes many groups of equal ranks."""
    return tuple(quickest(modelled(where, collective, usable)))


def channels_used(size: int, channels: int) -> int:
    """How many of a ring's or tree's channels carry a size."""
    return max(1, min(channels, size // MIN_CHANNEL_BYTES))


def chosen(runs: Iterable[tuple[int, Algorithm]], size: int) -> Algorithm:
    """The algorithm for a size, from the result of `quickest`."""
    return next(one for up_to, one in runs if size <= up_to)
