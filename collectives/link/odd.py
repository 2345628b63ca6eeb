# SPDX-License-Identifier: Apache-2.0
"""Which of many pairs that should be equally fast is slow, and whether that is one of its ranks or the link alone.

Robust statistics: the median says what is usual, the median absolute deviation (MAD) how far values scatter, so that
the slow ones move neither (Hampel 1974; Leys and others 2013, on its use to find outliers). Of logarithms, since what
disturbs a link makes it so many times slower.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import median
from typing import TypeVar

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


def odd_ones(speeds: Mapping[Pair, float]) -> list[Odd] | None:
    """The slow ranks, and of the pairs of all others the slow links; None when there are too few to say.

    Args:
        speeds: by pair, positive, the more the better; all should be equal.
    """
    ranks = sorted({rank for pair in speeds for rank in pair})
    of_rank = {rank: [speed for pair, speed in speeds.items() if rank in pair] for rank in ranks}
    own = {rank: median(each) for rank, each in of_rank.items() if len(each) >= LEAST_PAIRS}
    asks_ranks = len(own) >= LEAST_RANKS
    slow = _below(own) if asks_ranks else {}
    rest = {pair: speed for pair, speed in speeds.items() if not slow.keys() & set(pair)}
    asks_links = len(rest) >= LEAST_LINKS
    if not asks_ranks and not asks_links:
        return None
    links = _below(rest) if asks_links else {}
    return [Odd((rank,), own[rank], usual) for rank, usual in slow.items()] + [
        Odd(pair, rest[pair], usual) for pair, usual in links.items()
    ]


Name = TypeVar("Name", bound=Hashable)


def _below(speeds: Mapping[Name, float]) -> dict[Name, float]:
    """Those that stand out to below, each with what is usual."""
    logs = {name: log(speed) for name, speed in speeds.items()}
    usual = median(logs.values())
    scatter = MAD_OF_SIGMA * median(abs(each - usual) for each in logs.values())
    least = usual - max(-log(1 - LEAST_LOSS), SCATTER * scatter)
    return {name: exp(usual) for name, each in logs.items() if each < least}
