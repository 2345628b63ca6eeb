# SPDX-License-Identifier: Apache-2.0
"""Who is late: which rank the others wait for at the begin of collectives, how often, and for how long."""

from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.aligned import Aligned

FEWEST = 5
"""Operations, below which nothing is said."""
LEADS, COSTS = 0.6, 0.05
"""A rank is late if it causes that share of all waiting, and the waiting for it that share of the time."""
LEAST_NS = 20_000
"""Less than that is the jitter of launches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLateness:
    """How late one rank is. times: operations that it came last to. typical and most: in those, how long the others
    waited for it. share: of the time between operations that this costs.
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
    count = len(margins)
    period = float(np.median(np.diff(of.began.max(axis=0)))) if count > 1 else 0.0
    times = np.bincount(last, minlength=len(of.ranks))
    typical = [float(np.median(margins[last == place])) if times[place] else 0.0 for place in range(len(of.ranks))]
    caused = [float(number) * wait for number, wait in zip(times, typical, strict=True)]
    total = sum(caused)
    found = []
    for place, rank in enumerate(of.ranks):
        share = min(1.0, caused[place] / (count * period)) if period > 0 else 0.0
        found.append(
            RankLateness(
                rank=rank,
                times=int(times[place]),
                operations=count,
                typical_ns=typical[place],
                most_ns=float(margins[last == place].max(initial=0.0)),
                share=share,
                is_late=count >= FEWEST
                and typical[place] >= LEAST_NS
                and 2 * int(times[place]) > count
                and caused[place] >= LEADS * total
                and share >= COSTS,
            )
        )
    return found
