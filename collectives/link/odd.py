# SPDX-License-Identifier: Apache-2.0
"""Which of many links that should be equally fast is slow, in which direction, and whether the cause is one of its
ranks or the link itself: a pure function of repeated measurements.

Noise makes a measurement slower and never faster, so the best of a link's measurements is its speed. Robust statistics
give the usual speed (medians) and its spread (the median absolute deviation, MAD), so that slow links affect neither
(Hampel 1974; Leys and others 2013, on its use to find outliers). They use logarithms, since noise slows a link by a
factor.

A link is reported as slow only if noise cannot explain it: the other links' own measurements show how often a good link
is as slow as this one at its best. As long as that is not rare enough the link is unclear, and measured again.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import median, median_high, median_low

from railgauge.collectives.link.tournament import Pair

Directed = tuple[int, int]
"""One direction of a link: from which rank to which."""
LEAST_RANKS = 4
"""With three ranks of which one is slow, two of three pairs are slow: nothing shows which ones are normal."""
LEAST_LINKS = 3
"""Links of a rank in one direction that are needed to judge the rank."""
MOST = 0.5
"""If more than this share of a rank's links in one direction is slow, the rank is slow."""
SCATTER = 4.0
"""How many standard deviations below the usual speed is slow: once in 30,000 normally distributed values."""
MAD_OF_SIGMA = 1.4826
"""The standard deviation of a normal distribution over its MAD. For one direction it is sqrt(2) times that of the mean
of both: the directions of all links may differ in the same way, which is not spread.
"""
LEAST_LOSS = 0.25
"""A link less far below the usual speed is not reported, however small the spread."""
LEAST_SAMPLES = 4
"""Measurements of a link before it is reported as slow: a hiccup of the machine does not count."""
CHANCE = 5e-5
"""A link is slow if noise makes one of all links look like this less often than this. Small, since consecutive
measurements share their noise.
"""


@dataclass(frozen=True, slots=True)
class Odd:
    """A rank, or the link between two; `speed` as given, `usual` that of others of its kind."""

    ranks: tuple[int, ...]
    slow: tuple[Directed, ...]
    """The slow directions: all slow ones of a rank, one or both of a link."""
    speed: float
    usual: float

    @property
    def ratio(self) -> float:
        """Share of the usual speed."""
        return self.speed / self.usual


@dataclass(frozen=True, slots=True)
class Judged:
    """The slow ranks, then the slow links between the others, and what is undecided."""

    odd: list[Odd]
    unsure: list[Pair]
    """Below the usual speed, but with too few measurements to tell a slow link, a slow rank and noise apart."""
    faster: list[Pair]
    """Faster than usual by as much as a slow one is slower: if there are any, the usual speed itself may be slow."""
    sees_below: float
    """Share of the usual speed: because of the spread, a link above it is not detected."""


def odd_ones(samples: Mapping[Directed, Sequence[float]]) -> Judged | None:
    """Find the slow ranks, and the slow links between all others; None with too few ranks.

    Args:
        samples: by direction the speeds of its measurements, positive, higher is better; all should be equal.
    """
    best = {each: max(speeds) for each, speeds in samples.items() if speeds}
    at = {rank: [each for each in best if rank in each] for each in best for rank in each}
    both = {pair: _middle(best[each] for each in (pair, pair[::-1]) if each in best) for pair in _pairs(best)}
    judging = [[both[pair] for pair in pairs] for own in at.values() if len(pairs := _pairs(own)) >= LEAST_LINKS]
    if len(judging) < LEAST_RANKS:
        return None
    usual = Usual.of(judging)
    good = {each for each, speed in best.items() if not usual.is_above(speed)}
    # Links at a rank may be noisier than others: use the worse of all good links and of those at either rank.
    everywhere = sorted(speed for each in good for speed in samples[each])
    near = {rank: sorted(speed for each in own if each in good for speed in samples[each]) for rank, own in at.items()}
    slow = {
        each
        for each in best.keys() - good
        if len(samples[each]) >= LEAST_SAMPLES
        and _chance(samples[each], [everywhere, *(near[rank] for rank in each if near[rank])]) * len(best) < CHANCE
    }
    ranks = _slow_ranks(best.keys(), slow)
    rest = best.keys() - {each for own in ranks.values() for each in own}
    alone = {each for each in slow & rest if all(_is_fine(each[end], end, rest, good) for end in (0, 1))}
    named: list[tuple[tuple[int, ...], set[Directed]]] = [((rank,), own & slow) for rank, own in sorted(ranks.items())]
    named += [(pair, {each for each in alone if set(each) == set(pair)}) for pair in _pairs(alone)]
    return Judged(
        odd=[Odd(who, tuple(sorted(own)), _middle(best[each] for each in own), usual.speed) for who, own in named],
        unsure=_pairs(rest - good - alone),
        faster=_pairs(each for each, speed in best.items() if speed * usual.sees_below > usual.speed),
        sees_below=usual.sees_below,
    )


@dataclass(frozen=True, slots=True)
class Usual:
    """The speed of most links of most ranks, as the mean of both directions; and below which share of it one is
    slow.
    """

    speed: float
    sees_below: float

    @classmethod
    def of(cls, ranks: Collection[Collection[float]]) -> "Usual":
        """The links' speeds by rank, as means of both directions: up to half may be links to slow ranks."""
        logs = [[log(speed) for speed in own] for own in ranks]
        usual = median(median_high(own) for own in logs)
        scatter = MAD_OF_SIGMA * sqrt(2) * median(median_low([abs(each - usual) for each in own]) for own in logs)
        return cls(exp(usual), min(1 - LEAST_LOSS, exp(-SCATTER * scatter)))

    def is_above(self, speed: float) -> bool:
        """Whether a speed is an outlier on the slow side."""
        return speed < self.speed * self.sees_below


def _chance(own: Sequence[float], good: Iterable[Sequence[float]]) -> float:
    """How likely a good link is as slow as this one each time, by the group in which that is most frequent.

    Args:
        own: the measurements of a link.
        good: those of good links by group, in ascending order.
    """
    most = max(own)
    # Laplace's rule of succession: what was never seen may still occur.
    once = max((bisect_right(speeds, most) + 1) / (len(speeds) + 2) for speeds in good)
    return float(once ** len(own))


def _slow_ranks(links: Collection[Directed], slow: Collection[Directed]) -> dict[int, set[Directed]]:
    """The ranks whose links to most or from most others are slow, each with those; the ranks with most slow links
    first, since their links do not count for the others.
    """
    found: dict[int, set[Directed]] = {}
    left = set(links)
    while True:
        shares = {}
        for rank, end in {(each[end], end) for each in left & set(slow) for end in (0, 1)}:
            own = [each for each in left if each[end] == rank]
            shares[rank, end] = sum(each in slow for each in own) / len(own) if len(own) >= LEAST_LINKS else 0.0
        rank, end = max(shares, key=lambda at: (shares[at], at), default=(0, 0))
        if shares.get((rank, end), 0.0) <= MOST:
            return found
        blamed = {each for each in left if each[end] == rank}
        found[rank] = found.get(rank, set()) | blamed
        left -= blamed


def _is_fine(rank: int, end: int, links: Collection[Directed], good: Collection[Directed]) -> bool:
    """Whether enough of a rank's links in one direction are good, so that a slow one is not the rank's fault."""
    own = [each for each in links if each[end] == rank]
    return len(own) >= LEAST_LINKS and sum(each in good for each in own) >= (1 - MOST) * len(own)


def _pairs(links: Iterable[Directed]) -> list[Pair]:
    return sorted({(min(each), max(each)) for each in links})


def _middle(speeds: Iterable[float]) -> float:
    return exp(median(log(speed) for speed in speeds))
