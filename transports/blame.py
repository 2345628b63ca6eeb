# SPDX-License-Identifier: Apache-2.0
"""Who is at fault when a rank gives up waiting: ranks wait for each other, and the one at the end of that chain is."""

from collections.abc import Mapping

Waits = tuple[int, bool]
"""The rank waited for (-1: none), and whether it has to free a slot (else it has to send data)."""
NOBODY: Waits = (-1, False)


def chain(waits: Mapping[int, Waits], start: int) -> list[int]:
    """`start`, the rank that it waits for, the rank that that one waits for, and so on, until one waits for none or
    repeats.

    `waits` maps each rank that answered to what it waits for.
    """
    ranks = [start]
    while (following := waits.get(ranks[-1], NOBODY)[0]) >= 0 and following not in ranks:
        ranks.append(following)
    return ranks


def blame(waits: Mapping[int, Waits], start: int) -> int:
    """Follow who waits for whom from `start`, which waits, to the rank at fault, which waits for nobody or is silent.

    In a circle the one at fault waits for a free slot of a rank that waits for its data; without such a one it is
    `start`'s own neighbour.
    """
    ranks = chain(waits, start)
    if waits.get(ranks[-1], NOBODY)[0] < 0:
        return ranks[-1]
    for one in ranks:
        other, wants_slot = waits[one]
        if wants_slot and waits.get(other, NOBODY) == (one, False):
            return one
    return waits[start][0]
