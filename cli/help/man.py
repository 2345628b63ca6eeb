# SPDX-License-Identifier: Apache-2.0
"""A page of help as a man page, in the macros of man(7)."""

from collections.abc import Iterator

from railgauge.cli.help.page import NO_BREAK, HelpPage

EXIT_STATUS = "Exit status: "


def man_page(name: str, summary: str, page: HelpPage, others: tuple[str, ...] = ()) -> str:
    """The page of a command as roff. `name`: railgauge-topo-show; `summary`: one line; `others`: pages to see too."""
    return "\n".join(_lines(name, summary, page, others)) + "\n"


def _lines(name: str, summary: str, page: HelpPage, others: tuple[str, ...]) -> Iterator[str]:
    yield f'.TH "{name.upper()}" 1 "" railgauge "railgauge manual"'
    yield from (".nh", ".ad l")  # neither hyphens nor wide gaps in options
    yield ".SH NAME"
    yield f"{_roff(name)} \\- {_roff(summary.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_roff(page.usage)}"
    yield ".SH DESCRIPTION"
    for place, paragraph in enumerate(page.paragraphs):
        yield from ((".PP",) if place else ())
        yield _text(paragraph)
    for title, rows in page.sections:
        yield f'.SH "{title.upper()}"'
        for names, text in rows:
            yield from (".TP", f".B {_roff(names)}", _text(text))
    if page.examples:
        yield from (".SH EXAMPLES", ".nf", *map(_text, page.examples), ".fi")
    if page.ending:
        yield from (".SH EXIT STATUS", _text(page.ending.removeprefix(EXIT_STATUS)))
    if others:
        yield ".SH SEE ALSO"
        yield from (f".BR {_roff(other)} (1)," for other in others[:-1])
        yield f".BR {_roff(others[-1])} (1)"


def _text(text: str) -> str:
    """A line of text; a control character at its start stands for itself."""
    escaped = _roff(text)
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _roff(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace(NO_BREAK, r"\ ").replace("'", r"\(aq")
