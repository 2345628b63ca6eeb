# SPDX-License-Identifier: Apache-2.0
"""stdout and stderr as every command has them: whatever is printed, no control character of it reaches a terminal."""

import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

from railgauge.topo.values.printable import inline, printable

INDENTED = "\n  "
"""How the lines of an error with several of them begin."""
START_OF_LINE = "\r\x1b[K"
"""Goes back and clears the line: ECMA-48's EL."""


class PrintableStream:
    """A text stream that prints what is printable. All but writing is the stream's own.

    Rich's consoles write their colours past it, by the attribute that Rich has for streams in front of others; ours
    (terminal.py) make their texts printable themselves.
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
    """Put a PrintableStream in front of stdout and stderr, for as long as these are what they are.

    What the encoding of stdout has not is a question mark (on stderr an escape, as Python has it).
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, PrintableStream):
            setattr(sys, name, PrintableStream(stream))


def tell(message: str) -> None:
    """Say something on stderr, on one line or on those that an error made (INDENTED): no part passes for another."""
    print(INDENTED.join(map(inline, message.strip().split(INDENTED))), file=sys.stderr)


def show_progress(text: str) -> None:
    """Put a text in place of the last one on stderr, where that is a terminal; "" clears it."""
    if sys.stderr.isatty():
        raw = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        raw.write(START_OF_LINE + inline(text))  # stderr is flushed at a carriage return
