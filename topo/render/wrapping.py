# SPDX-License-Identifier: Apache-2.0
"""Lines within the width of a terminal: they break between words and hang below themselves. No word is cut, and a table
drops columns.
"""

import re
from collections.abc import Iterator, Sequence

from railgauge.topo.render.palette import Ink, Line, line

HANG = 4
"""Columns by which a continued line is further in than its first."""
GAP = 2
"""Blanks between two columns of a table."""
UNIT = re.compile(r"[KMGT]?i?B(/s)?\b|[KMG]?b/s\b|GT/s\b|[num]?s\b|[KMG]?Hz\b|W\b|%")
"""What belongs to the number before it."""
Span = tuple[int, int]


def wrapped(shown: Line, width: int | None, hang: int | None = None) -> Iterator[Line]:
    """The line within a width; None: not wrapped. hang: the indentation of continued lines (default: HANG further in).

    A word longer than the width breaks behind a comma, and stands as it is without one.
    """
    text = "".join(part for part, _ in shown)
    if width is None or len(text.rstrip()) <= width:
        yield shown
        return
    indent = len(text) - len(text.lstrip()) + HANG if hang is None else hang
    indent = min(indent, width // 2)
    for number, (start, end) in enumerate(_spans(text, width, indent)):
        yield (*([(" " * indent, Ink.PLAIN)] if number else []), *_cut(shown, start, end))


def wrapped_text(text: str, width: int | None, hang: int | None = None) -> Iterator[str]:
    """The same for a text without inks."""
    return ("".join(part for part, _ in one) for one in wrapped(line(text), width, hang))


def fitting(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """A table as lines: its columns as wide as their widest cell, and from the right those left out that do not fit."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    count = fitting_columns(widths, width)
    kept = widths[:count]
    return [(" " * GAP).join(cell.ljust(size) for cell, size in zip(row, kept, strict=False)).rstrip() for row in rows]


def fitting_columns(widths: Sequence[int], width: int | None) -> int:
    """How many columns of these widths fit, at least one."""
    count = len(widths)
    while width is not None and count > 1 and sum(widths[:count]) + GAP * (count - 1) > width:
        count -= 1
    return count


def _spans(text: str, width: int, indent: int) -> Iterator[Span]:
    """The parts of a text, each within the width; all but the first are indented."""
    length = len(text.rstrip())
    start, least, room = 0, len(text) - len(text.lstrip()), width
    while length - start > room and (end := _end(text, start, least, start + room)):
        yield start, end
        start = least = end + len(text[end:]) - len(text[end:].lstrip())
        room = width - indent
    yield start, length


def _end(text: str, start: int, least: int, limit: int) -> int | None:
    """Where a part ends: at the last blank up to the limit, else behind the last comma, else at the next of either.

    None if the rest is one word. A number and its unit are one word.
    """
    blank = text.rfind(" ", least + 1, limit + 1)
    while blank > start and text[blank - 1].isdigit() and UNIT.match(text, blank + 1):
        blank = text.rfind(" ", least + 1, blank)
    if blank > start:
        return len(text[:blank].rstrip())
    comma = text.rfind(",", least + 1, limit)
    if comma > start:
        return comma + 1
    later = [end for end in (text.find(" ", limit), text.find(",", limit) + 1) if end > start]
    return min(later, default=None)


def _cut(shown: Line, start: int, end: int) -> Line:
    """The pieces of a part."""
    pieces: list[tuple[str, Ink]] = []
    at = 0
    for text, ink in shown:
        piece = text[max(0, start - at) : max(0, end - at)]
        at += len(text)
        if piece:
            pieces.append((piece, ink))
    return tuple(pieces)
