# SPDX-License-Identifier: Apache-2.0
"""Folds numbers: channel 3; channels 0-3,6."""

from collections.abc import Sequence


def spans(what: str, numbers: Sequence[int]) -> str:
    """Ascending numbers folded, after the name of what they count."""
    starts = [i for i, number in enumerate(numbers) if i == 0 or number != numbers[i - 1] + 1]
    runs = [numbers[a:b] for a, b in zip(starts, [*starts[1:], len(numbers)], strict=True)]
    text = ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
    return f"{what} {text}" if len(numbers) == 1 else f"{what}s {text}"
