# SPDX-License-Identifier: Apache-2.0
"""A page of help as text, wrapped at the width of the terminal between words."""

import shutil
import textwrap
from collections.abc import Iterator

from railgauge.cli.help.page import NO_BREAK, HelpPage, Row

WIDEST, NARROWEST = 100, 40  # columns
NAMES = 34  # columns of the names of options, at most; a longer one has a line of its own
INDENT = "  "


def page_text(page: HelpPage, columns: int | None = None) -> str:
    """The whole page; `columns`: of the terminal, by default the one there is."""
    width = max(min(columns or shutil.get_terminal_size().columns, WIDEST), NARROWEST)
    lines = [_filled(page.usage, width, "Usage: ", " " * 7)]
    for paragraph in page.paragraphs:
        lines += ["", _filled(paragraph, width)]
    for title, rows in page.sections:
        lines += ["", f"{title}:", *_rows(rows, width)]
    if page.examples:
        lines += ["", "Examples:", *(INDENT + example for example in page.examples)]
    return "\n".join([*lines, *(["", _filled(page.ending, width)] if page.ending else [])])


def _rows(rows: tuple[Row, ...], width: int) -> Iterator[str]:
    column = 2 + min(max(len(name) for name, _ in rows), NAMES if width > 72 else NAMES // 2) + 2
    for name, text in rows:
        first = f"{INDENT}{name}"
        if len(first) + 2 > column:
            yield first
            first = ""
        yield _filled(text, width, first.ljust(column), " " * column)


def _filled(text: str, width: int, first: str = "", rest: str = "") -> str:
    filled = textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return filled.replace(NO_BREAK, " ")
