# SPDX-License-Identifier: Apache-2.0
"""Numbers in few words: 0-3,6; channel 3; channels 0-3,6. Whatever folds runs of numbers does it by `runs`."""

from collections.abc import Sequence
from itertools import pairwise


def runs(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Rising numbers cut where the next is not one higher: (0, 1, 2, 8) gives (0, 1, 2) and (8,)."""
    starts = [place for place, number in enumerate(numbers) if not place or number != numbers[place - 1] + 1]
    return [numbers[a:b] for a, b in pairwise([*starts, len(numbers)])]


def listed(numbers: Sequence[int]) -> str:
    """The shortest list of rising numbers, as the kernel writes a cpulist: (0, 1, 2, 8) is "0-2,8"; "" for none."""
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs(numbers))


def spans(what: str, numbers: Sequence[int]) -> str:
    """The rising numbers with what they number: channel 3, channels 0-3,6."""
    return f"{what} {listed(numbers)}" if len(numbers) == 1 else f"{what}s {listed(numbers)}"
