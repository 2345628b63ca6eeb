# SPDX-License-Identifier: Apache-2.0
"""Tables, sizes and times as text."""

from collections.abc import Iterable


def lines(columns: list[str], rows: Iterable[list[str]]) -> str:
    """A table."""
    table = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*table, *("| " + " | ".join(row) + " |" for row in rows)])


def byte_text(size: int) -> str:
    """A size in the largest unit that divides it."""
    for unit, letter in ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return f"{size} B"


def time_text(us: float | None) -> str:
    """Microseconds, in as many digits as mean something."""
    if us is None:
        return "-"
    return f"{us:.0f}" if us >= 100 else f"{us:.3g}"
