# SPDX-License-Identifier: Apache-2.0
"""Communicators of some of a communicator's ranks: who is in which, and what they are called."""

import operator
from collections import Counter
from collections.abc import Sequence

from railgauge.topo.errors import UsageError
from railgauge.transports.group import Group

Part = tuple[Group, list[int]]
"""A group of some ranks, and these in its order."""


class Subgroups:
    """One rank's view of how its group is divided."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._splits = 0
        self._subsets: Counter[tuple[int, ...]] = Counter()

    def split(self, color: int | None, key: int) -> Part | None:
        """The ranks of this color, by key and number; all ranks call it. Errors are those of `Communicator.split`."""
        try:
            own = [None if color is None else operator.index(color), operator.index(key)]
        except TypeError:
            raise UsageError(f"split: color {color!r}, key {key!r}: expected whole numbers, or no color") from None
        self._splits += 1
        told = self._group.all_gather(own, tuple[int | None, int])
        if color is None:
            return None
        same = (rank for rank in range(self._group.world_size) if told[rank][0] == color)
        return self._part(sorted(same, key=lambda rank: told[rank][1]), self._splits)

    def subset(self, ranks: Sequence[int]) -> Part:
        """These ranks, which alone call it. Errors are those of `Communicator.subset`."""
        size, own = self._group.world_size, self._group.rank
        try:
            chosen = [operator.index(rank) for rank in ranks]
        except TypeError:
            raise UsageError(f"subset: ranks {ranks!r:.80}: expected whole numbers") from None
        if len(set(chosen)) < len(chosen) or not all(0 <= rank < size for rank in chosen):
            raise UsageError(f"subset: ranks {chosen!r:.80}: expected each once, of 0 to {size - 1}")
        if own not in chosen:
            raise UsageError(f"subset: rank {own} is not among ranks {chosen!r:.80}, which alone call it")
        self._subsets[tuple(chosen)] += 1
        return self._part(chosen, -self._subsets[tuple(chosen)])

    def _part(self, ranks: list[int], number: int) -> Part:
        return self._group.subgroup(ranks, number), ranks
