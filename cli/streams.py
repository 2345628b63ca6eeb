# SPDX-License-Identifier: Apache-2.0
"""stdout and stderr of every command: no control character of printed text reaches a terminal."""

import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

from railgauge.topo.values.printable import inline, printable

INDENTED = "\n  "
"""Begins the second and later lines of an error message."""
START_OF_LINE = "\r\x1b[K"
"""Returns to the start of the line and clears it (ECMA-48: EL)."""


class PrintableStream:
    """A text stream that writes printable characters only; everything but writing is the wrapped stream's.

    Rich's consoles write their colours past it, through the attribute that Rich knows for wrapped streams; ours
    (terminal.py) make their text printable themselves.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text."""
        self.rich_proxied_file.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def guard_streams() -> None:
    """Wrap stdout and stderr in a PrintableStream.

    A character that stdout's encoding lacks prints as a question mark (on stderr as an escape, Python's default).
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, PrintableStream):
            setattr(sys, name, PrintableStream(stream))


def tell(message: str) -> None:
    """Print a message on stderr, on one line or the lines that an error made (INDENTED): no text can fake another."""
    print(INDENTED.join(map(inline, message.strip().split(INDENTED))), file=sys.stderr)


def show_progress(text: str) -> None:
    """Replace the progress text on stderr if that is a terminal; "" clears it."""
    if sys.stderr.isatty():
        raw = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        raw.write(START_OF_LINE + inline(text))  # stderr is flushed at a carriage return
