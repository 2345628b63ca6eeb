# SPDX-License-Identifier: Apache-2.0
"""Lines within the width of a terminal: they break between words and hang below themselves. No word is cut, and a table
drops columns.
"""

from collections.abc import Iterator, Sequence

from railgauge.topo.render.palette import Ink, Line, line

HANG = 4
"""Columns by which a continued line is further in than its first."""
GAP = 2
"""Blanks between two columns of a table."""
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
    return [
        (" " * GAP).join(cell.ljust(size) for cell, size in zip(row, kept, strict=False)).rstrip() for row in rows
    ]


def fitting_columns(widths: Sequence[int], width: int | None) -> int:
    """How many columns of these widths fit, at least one."""
    count = len(widths)
    while width is not None and count > 1 and sum(widths[:count]) + GAP * (count - 1) > width:
        count -= 1
    return count


def _spans(text: str, width: int, indent: int) -> Iterator[Span]:
    """The parts of a text, each within the width; all but the first are indented."""
    start, first = 0, len(text) - len(text.lstrip())
    end_of_text = len(text.rstrip())
    while end_of_text - start > width - (indent if start else 0):
        end = _end(text, start, start + width - (indent if start else 0), first if not start else start)
        if end is None:
            break
        yield start, end
        start = end + len(text[end:]) - len(text[end:].lstrip())
    yield start, end_of_text


def _end(text: str, start: int, limit: int, least: int) -> int | None:
    """Where a part ends: at the last blank up to the limit, behind the last comma, or at the next of either."""
    blank = text.rfind(" ", least + 1, limit + 1)
    if blank > start and text[least:blank].strip():
        return len(text[:blank].rstrip())
    comma = text.rfind(",", least + 1, limit)
    if comma > start:
        return comma + 1
    found = [place for place in (text.find(" ", limit), text.find(",", limit) + 1) if place > start]
    return min(found) if found and text[min(found) :].strip() else None


def _cut(shown: Line, start: int, end: int) -> Line:
    """The pieces of a part."""
    pieces, at = [], 0
    for text, ink in shown:
        piece = text[max(0, start - at) : max(0, end - at)]
        at += len(text)
        if piece:
            pieces.append((piece, ink))
    return tuple(pieces)
