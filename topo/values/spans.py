# SPDX-License-Identifier: Apache-2.0
"""Folds numbers: 0-3,6; channel 3; channels 0-3,6. `runs` is the one function that finds runs."""

from collections.abc import Sequence
from itertools import pairwise


def runs(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Ascending numbers split into runs: (0, 1, 2, 8) gives (0, 1, 2) and (8,)."""
    starts = [place for place, number in enumerate(numbers) if not place or number != numbers[place - 1] + 1]
    return [numbers[a:b] for a, b in pairwise([*starts, len(numbers)])]


def listed(numbers: Sequence[int]) -> str:
    """Ascending numbers as a list with ranges, as the kernel writes a cpulist: (0, 1, 2, 8) is "0-2,8"; "" for none."""
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs(numbers))


def spans(what: str, numbers: Sequence[int]) -> str:
    """Ascending numbers folded, after the name of what they count: channel 3, channels 0-3,6."""
    return f"{what} {listed(numbers)}" if len(numbers) == 1 else f"{what}s {listed(numbers)}"
