# SPDX-License-Identifier: Apache-2.0
"""Counters that rise between two readings, and their rates."""

from collections.abc import Mapping


def rises(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> dict[str, int]:
    """By how much counters rose, those that did; one that was not read before, or was reset since, is left out."""
    both = ((name, before.get(name), count) for name, count in after.items())
    return {name: now - then for name, then, now in both if then is not None and now is not None and then < now}


def rates(rise: Mapping[str, int], seconds: float) -> dict[str, float]:
    """The same for a second."""
    return {name: round(count / seconds, 3) for name, count in rise.items()}


def rise_words(rise: Mapping[str, int], seconds: float) -> str:
    """The rises in words, with their rates."""
    per_s = rates(rise, seconds)
    return f"rose in {seconds:.1f} s: " + ", ".join(f"{name} by {n} ({per_s[name]:g}/s)" for name, n in rise.items())
