# SPDX-License-Identifier: Apache-2.0
"""Who is at fault when a rank gives up waiting: ranks wait for each other, and the one at the end of that chain is."""

Waits = tuple[int, bool]
"""The rank waited for (-1: none), and whether it has to free a slot (else it has to send data)."""
NOBODY: Waits = (-1, False)


def blame(states: dict[int, Waits], start: int) -> int:
    """Follow who waits for whom from `start` to the rank at fault: one that waits for nobody, or is silent.

    `states` maps each rank that answered to what it waits for. In a circle the one at fault waits for a free slot of
    a rank that waits for its data; without such a one it is `start`'s own neighbour.
    """
    seen = [start]
    rank = states[start][0]
    while rank not in seen and states.get(rank, NOBODY)[0] >= 0:
        seen.append(rank)
        rank = states[rank][0]
    if rank not in seen:
        return rank
    for one in seen:
        other, wants_slot = states[one]
        if wants_slot and states.get(other, NOBODY) == (one, False):
            return one
    return states[start][0]
