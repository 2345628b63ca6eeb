# SPDX-License-Identifier: Apache-2.0
"""Who is late: which rank the others wait for at the begin of collectives, how often, and for how long."""

from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.aligned import Aligned
from railgauge.topo.jobs.recordings.recording import Array

FEWEST = 5
"""Waits for a rank, below which nothing is said."""
LEADS, COSTS = 0.6, 0.05
"""A rank is late if it causes that share of all waiting, and the waiting for it takes that share of the time."""
LEAST_NS = 200_000
"""Less than that is the jitter of launches: between two H200s under PyTorch up to 0.133 ms (tests' recordings)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLateness:
    """How late one rank is. times: operations in which the others waited for it. typical: half of that waiting is in
    waits of at least so long. share: of the time from the first begin to the last end, without the longest wait: one
    alone, such as for a checkpoint, makes no rank late.
    """

    rank: int
    times: int
    operations: int
    typical_ns: float
    most_ns: float
    share: float
    is_late: bool


def lateness(of: Aligned) -> list[RankLateness]:
    """By rank, in their order."""
    last, margins = of.last, of.margins_ns
    until = of.began if of.ended is None else of.ended
    span = float(until.max() - of.began.min()) if of.began.size else 0.0
    waits = [np.sort(margins[(last == place) & (margins >= LEAST_NS)]) for place in range(len(of.ranks))]
    caused = [float(some[:-1].sum()) for some in waits]
    total = sum(caused)
    found = []
    for rank, some, time in zip(of.ranks, waits, caused, strict=True):
        share = min(1.0, time / span) if span > 0 else 0.0
        found.append(
            RankLateness(
                rank=rank,
                times=len(some),
                operations=len(margins),
                typical_ns=_half_of_time(some),
                most_ns=float(some.max(initial=0.0)),
                share=share,
                is_late=len(some) >= FEWEST and time >= LEADS * total and share >= COSTS,
            )
        )
    return found


def _half_of_time(waits: Array) -> float:
    """The wait from which on the longer ones have half of the time."""
    if not waits.size:
        return 0.0
    passed = np.cumsum(waits)
    return float(waits[np.searchsorted(passed, passed[-1] / 2)])
