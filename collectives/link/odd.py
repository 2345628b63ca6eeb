# SPDX-License-Identifier: Apache-2.0
"""Which of many pairs that should be equally fast is slow, and whether that is one of its ranks or the link alone.

Robust statistics: the median says what is usual, the median absolute deviation (MAD) how far values scatter, so that
the slow ones move neither (Hampel 1974; Leys and others 2013, on its use to find outliers). Of logarithms, since what
disturbs a link makes it so many times slower.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import median

from railgauge.collectives.link.tournament import Pair

LEAST_RANKS = 4
"""Of three ranks with one slow, two of three pairs are slow: nothing tells which is odd."""
LEAST_PAIRS = 3
"""Of a rank, for their median to be the rank's own."""
LEAST_LINKS = 5
SCATTER = 4.0
"""How many standard deviations below the median is odd: once in 30,000 of normally distributed values."""
MAD_OF_SIGMA = 1.4826
"""The standard deviation of a normal distribution over its MAD."""
LEAST_LOSS = 0.25
"""What is less below the usual is not worth a word, however little values scatter."""


@dataclass(frozen=True, slots=True)
class Odd:
    """A rank, or the link between two; `speed` as given, `usual` what the others of its kind have."""

    ranks: tuple[int, ...]
    speed: float
    usual: float

    @property
    def ratio(self) -> float:
        """Of the usual speed."""
        return self.speed / self.usual


@dataclass(frozen=True, slots=True)
class Judged:
    """The slow ranks, then the slow links between the others, and how slow one has to be to be seen."""

    odd: list[Odd]
    sees_below: float
    """Of the usual speed: what has more stays unseen, so widely do values scatter."""


def odd_ones(speeds: Mapping[Pair, float]) -> Judged | None:
    """Find the slow ranks, and of the pairs of all others the slow links; None when there are too few to say.

    Args:
        speeds: by pair, positive, the more the better; all should be equal.
    """
    ranks = sorted({rank for pair in speeds for rank in pair})
    of_rank = {rank: [speed for pair, speed in speeds.items() if rank in pair] for rank in ranks}
    own = {rank: median(each) for rank, each in of_rank.items() if len(each) >= LEAST_PAIRS}
    odd, seen = [], []
    if len(own) >= LEAST_RANKS:
        by_rank = Usual.of(own.values())
        odd += [Odd((rank,), speed, by_rank.speed) for rank, speed in own.items() if by_rank.is_above(speed)]
        seen.append(by_rank.sees_below)
    slow = {rank for one in odd for rank in one.ranks}
    rest = {pair: speed for pair, speed in speeds.items() if not slow & set(pair)}
    if len(rest) >= LEAST_LINKS:
        by_link = Usual.of(rest.values())
        odd += [Odd(pair, speed, by_link.speed) for pair, speed in rest.items() if by_link.is_above(speed)]
        seen.append(by_link.sees_below)
    return Judged(odd, min(seen)) if seen else None


@dataclass(frozen=True, slots=True)
class Usual:
    """The median of some speeds, and below what share of it one stands out."""

    speed: float
    sees_below: float

    @classmethod
    def of(cls, speeds: Collection[float]) -> "Usual":
        """What these have."""
        logs = [log(speed) for speed in speeds]
        usual = median(logs)
        scatter = MAD_OF_SIGMA * median(abs(each - usual) for each in logs)
        return cls(exp(usual), min(1 - LEAST_LOSS, exp(-SCATTER * scatter)))

    def is_above(self, speed: float) -> bool:
        """Whether a speed stands out to below."""
        return speed < self.speed * self.sees_below
