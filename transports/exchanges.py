# SPDX-License-Identifier: Apache-2.0
"""The all-gathers that some ranks of a group have entered and others not yet."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from railgauge.transports.frame import Contribution

MOST_OPEN = 1024
"""How many exchanges a rank may have entered before the others of their groups have; one for each group and thread."""


@dataclass(slots=True)
class Exchange:
    """One all-gather; `deadline` by time.monotonic(), `values` by rank."""

    deadline: float
    members: Sequence[int]
    values: dict[int, bytes] = field(default_factory=dict)
    size: int = 0
    """Size of all values together, in bytes."""

    @property
    def missing(self) -> list[int]:
        """The members that have not entered it."""
        return [rank for rank in self.members if rank not in self.values]


class Exchanges:
    """Those under way in a job of `world_size` ranks, by the group's name and the number within it."""

    def __init__(self, world_size: int) -> None:
        self._world_size = world_size
        self._open: dict[tuple[int, int], Exchange] = {}

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._open.values())

    @property
    def size(self) -> int:
        """Size of all values that are held, in bytes."""
        return sum(each.size for each in self)

    @property
    def ranks(self) -> set[int]:
        """The ranks that wait in one."""
        return {rank for each in self for rank in each.values}

    def enter(self, number: int, rank: int, given: Contribution) -> Exchange:
        """Add a rank's contribution; the exchange is kept until `end`.

        Raises:
            ValueError: a second one, one to a group that the rank is not in or that does not exist, or too many.
        """
        key, members = (given.group, number), given.members or range(self._world_size)
        if sum(rank in each.values for each in self) >= MOST_OPEN:
            raise ValueError("more concurrent exchanges than a rank has groups")
        exchange = self._open.get(key) or self._begin(key, time.monotonic() + given.limit_s, members)
        if rank in exchange.values or rank not in members or members != exchange.members:
            raise ValueError("a duplicate contribution, or one to a group that it is not in")
        exchange.values[rank] = given.value
        exchange.size += len(given.value)
        return exchange

    def end(self, number: int, group: int) -> None:
        """Forget one that all have entered."""
        del self._open[group, number]

    def excuse(self, late_s: float) -> None:
        """Extend each deadline."""
        for each in self:
            each.deadline += late_s

    def _begin(self, key: tuple[int, int], deadline: float, members: Sequence[int]) -> Exchange:
        if len(set(members)) != len(members) or max(members) >= self._world_size:
            raise ValueError("a group of ranks that do not exist")
        return self._open.setdefault(key, Exchange(deadline, members))
