# SPDX-License-Identifier: Apache-2.0
"""The order in which a node tries all others, so that no two nodes are at the same one at a time: the circle method."""

from collections.abc import Iterator


def opponents(count: int, me: int) -> Iterator[int]:
    """The partners of player `me` of `count`, round by round; a round without a partner is left out.

    One player keeps its position and the others rotate: partners are those whose numbers add up to the round's.
    """
    circle = count - 1 if count % 2 == 0 else count
    for number in range(circle):
        still = number * (circle + 1) // 2 % circle
        other = (number - me) % circle if me < circle else still
        if other == me:
            other = circle
        if other < count:
            yield other
