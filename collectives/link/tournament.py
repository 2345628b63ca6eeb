# SPDX-License-Identifier: Apache-2.0
"""A schedule of all pairs: every pair once, in rounds of pairs without a common member."""

from itertools import combinations

Pair = tuple[int, int]
"""Two ranks, the lower one first."""


def rounds(ranks: int) -> list[list[Pair]]:
    """All pairs in as few rounds as possible: ranks - 1, or `ranks` when those are odd and one sits out each time.

    By the circle method (Kirkman 1847): the first stays, all others rotate by one position each round.
    """
    if ranks < 2:
        return []
    positions = ranks + ranks % 2  # the partner of an empty last position sits out
    others = list(range(1, positions))
    found = []
    for turn in range(positions - 1):
        circle = [0, *others[turn:], *others[:turn]]
        met = zip(circle[: positions // 2], reversed(circle[positions // 2 :]), strict=True)
        found.append(sorted((min(pair), max(pair)) for pair in met if max(pair) < ranks))
    return found


def one_at_a_time(ranks: int) -> list[list[Pair]]:
    """All pairs, each in a round of its own."""
    return [[pair] for pair in combinations(range(ranks), 2)]
