# SPDX-License-Identifier: Apache-2.0
"""A logarithmic axis: the position of a value, and which values have a mark and a label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

BINARY = ("", "K", "M", "G", "T", "P")


@dataclass(frozen=True, slots=True)
class LogAxis:
    """From `low` to `high` (both more than 0, low less than high) over the pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def size_limits(sizes: Sequence[int]) -> tuple[float, float]:
    """The ends of an axis of sizes: half a step of two beyond them."""
    return min(sizes) / math.sqrt(2), max(sizes) * math.sqrt(2)


def size_marks(sizes: Sequence[int], most: int) -> list[int]:
    """Powers of two between the smallest and largest size, evenly spaced, `most` at most; at least one."""
    first, last = math.ceil(math.log2(min(sizes))), math.floor(math.log2(max(sizes)))
    if first > last:
        return [min(sizes)]
    step = max(1, -(-(last - first + 1) // max(1, most)))
    return [1 << power for power in range(first, last + 1, step)]


def size_name(size: int) -> str:
    """As -b takes it: 8, 64K, 1M."""
    power = 0
    while size and size % 1024 == 0 and power < len(BINARY) - 1:
        size, power = size // 1024, power + 1
    return f"{size}{BINARY[power]}"


def bandwidth_limits(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis of bandwidths: marks of 1, 2 and 5, with space above for labels."""
    return _mark_below(min(values) / 1.1), _mark_below(max(values) * 1.15, above=True)


def bandwidth_marks(low: float, high: float) -> list[tuple[float, bool]]:
    """Marks between the ends, and whether each has a label: every power of ten, and 2 and 5 if there are few."""
    decades = range(math.floor(math.log10(low) - 1e-9), math.ceil(math.log10(high) + 1e-9) + 1)
    few = math.log10(high / low) < 2.5
    found = [(digit * 10.0**power, digit == 1 or few) for power in decades for digit in (1, 2, 5)]
    return [(value, named) for value, named in found if low * 0.999 <= value <= high * 1.001]


def _mark_below(value: float, *, above: bool = False) -> float:
    power = math.floor(math.log10(value))
    marks = [digit * 10.0**exponent for exponent in (power - 1, power, power + 1) for digit in (1, 2, 5)]
    return next(mark for mark in marks if mark >= value) if above else max(mark for mark in marks if mark <= value)
