# SPDX-License-Identifier: Apache-2.0
"""Waits for ranks that have left: nothing more arrives from those, so these waits need not last until the timeout."""

from collections.abc import Collection, Mapping
from math import inf

from railgauge.transports.standing import Standing, current

LEFT_S = 2.0
"""A wait of this many seconds for a rank that has left is in vain: what that rank sent has arrived by then."""


class VainWaits:
    """The hub's view of them; once a rank has left, it repeatedly queries the ranks' states."""

    def __init__(self) -> None:
        self._next_question = inf
        self._before: dict[int, Standing] = {}

    def begin(self, now: float) -> None:
        """A rank has left: query from `now` (time.monotonic()) on."""
        self._next_question = min(self._next_question, now)

    def is_due(self, now: float) -> bool:
        """Whether to evaluate the answers, and to query again."""
        if now < self._next_question:
            return False
        self._next_question = now + LEFT_S
        return True

    def look(self, standings: Mapping[int, list[Standing]], left: Collection[int]) -> int | None:
        """The rank among those who `left` for which another still waits in the same operation as last time."""
        stand = {rank: standing for rank, some in standings.items() if (standing := current(some)) and rank not in left}
        before, self._before = self._before, stand
        for rank, one in stand.items():
            then = before.get(rank)
            if one.waits[0] in left and then and _where(then) == _where(one):
                return one.waits[0]
        return None


def _where(standing: Standing) -> tuple[object, ...]:
    return standing.communicator, standing.running, standing.blocked_on
