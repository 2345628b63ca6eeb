# SPDX-License-Identifier: Apache-2.0
"""Which of many links that should be equally fast is slow, in which direction, and whether that is one of its ranks or
the link alone: a pure function of repeated measurements.

What disturbs a measurement makes it slower and never faster, so the best of a link's measurements is what it can do.
Robust statistics say what is usual (medians) and how far links scatter (the median absolute deviation, MAD), so that
the slow ones move neither (Hampel 1974; Leys and others 2013, on its use to find outliers). Of logarithms, since what
disturbs a link makes it so many times slower.

A link is called slow only when chance cannot explain it: the other links' own measurements say how often a good link
is as slow as this one at its best. As long as that is not rare enough it is unsure, and to be measured again.
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
"""Of three ranks with one slow, two of three pairs are slow: nothing tells which is odd."""
LEAST_LINKS = 3
"""Of a rank in one direction, before most of them can say something of the rank."""
MOST = 0.5
"""More than this share of a rank's links in one direction makes it the rank."""
SCATTER = 4.0
"""How many standard deviations below the usual is odd: once in 30,000 of normally distributed values."""
MAD_OF_SIGMA = 1.4826
"""The standard deviation of a normal distribution over its MAD. Of one direction it is sqrt(2) of that of the middle of
both: directions may differ on all links alike, which is no scatter.
"""
LEAST_LOSS = 0.25
"""What is less below the usual is not worth a word, however little links scatter."""
LEAST_SAMPLES = 4
"""Of a link, before it is called slow: a hiccup of the machine is none."""
CHANCE = 5e-5
"""A link is slow when chance makes one of all links look so less often than this. Small, since measurements that follow
each other are disturbed together.
"""


@dataclass(frozen=True, slots=True)
class Odd:
    """A rank, or the link between two; `speed` as given, `usual` what others of its kind have."""

    ranks: tuple[int, ...]
    slow: tuple[Directed, ...]
    """The directions that are slow: of a rank all that it is blamed for, of a link one or both."""
    speed: float
    usual: float

    @property
    def ratio(self) -> float:
        """Of the usual speed."""
        return self.speed / self.usual


@dataclass(frozen=True, slots=True)
class Judged:
    """The slow ranks, then the slow links between the others, and what could not be decided."""

    odd: list[Odd]
    unsure: list[Pair]
    """Too slow for the usual, and measured too rarely to tell why: a slow link, a slow rank, or chance."""
    faster: list[Pair]
    """So much faster than the usual as a slow one is slower: where there are some, the usual itself may be slow."""
    sees_below: float
    """Of the usual speed: what has more stays unseen, so widely do links scatter."""


def odd_ones(samples: Mapping[Directed, Sequence[float]]) -> Judged | None:
    """Find the slow ranks, and the slow links between all others; None when there are too few to say.

    Args:
        samples: by direction the speeds of its measurements, positive, the more the better; all should be equal.
    """
    best = {each: max(speeds) for each, speeds in samples.items() if speeds}
    at = {rank: [each for each in best if rank in each] for each in best for rank in each}
    both = {pair: _middle(best[each] for each in (pair, pair[::-1]) if each in best) for pair in _pairs(best)}
    judging = [[both[pair] for pair in pairs] for own in at.values() if len(pairs := _pairs(own)) >= LEAST_LINKS]
    if len(judging) < LEAST_RANKS:
        return None
    usual = Usual.of(judging)
    good = {each for each, speed in best.items() if not usual.is_above(speed)}
    # Those at a rank may be disturbed more than others: the worse of all good links and of those at either rank counts.
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
    """What most links of most ranks have in the middle of both directions; below what share of it one is slow."""

    speed: float
    sees_below: float

    @classmethod
    def of(cls, ranks: Collection[Collection[float]]) -> "Usual":
        """What these have, by rank its links in the middle of both directions: up to half may go to slow ranks."""
        logs = [[log(speed) for speed in own] for own in ranks]
        usual = median(median_high(own) for own in logs)
        scatter = MAD_OF_SIGMA * sqrt(2) * median(median_low([abs(each - usual) for each in own]) for own in logs)
        return cls(exp(usual), min(1 - LEAST_LOSS, exp(-SCATTER * scatter)))

    def is_above(self, speed: float) -> bool:
        """Whether a speed stands out to below."""
        return speed < self.speed * self.sees_below


def _chance(own: Sequence[float], good: Iterable[Sequence[float]]) -> float:
    """How likely a good link would be as slow as this one each time, by the one of these groups that is so most often.

    Args:
        own: the measurements of a link.
        good: those of good links by group, in ascending order.
    """
    most = max(own)
    # Laplace's rule of succession: what was never seen may still be.
    once = max((bisect_right(speeds, most) + 1) / (len(speeds) + 2) for speeds in good)
    return float(once ** len(own))


def _slow_ranks(links: Collection[Directed], slow: Collection[Directed]) -> dict[int, set[Directed]]:
    """The ranks whose links are slow to most others or from most others, each with those; the most slow ones first,
    since their links say nothing of the others.
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
    """Whether enough of a rank's links in one direction are good for a slow one to be no fault of the rank."""
    own = [each for each in links if each[end] == rank]
    return len(own) >= LEAST_LINKS and sum(each in good for each in own) >= (1 - MOST) * len(own)


def _pairs(links: Iterable[Directed]) -> list[Pair]:
    return sorted({(min(each), max(each)) for each in links})


def _middle(speeds: Iterable[float]) -> float:
    return exp(median(log(speed) for speed in speeds))
