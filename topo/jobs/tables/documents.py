# SPDX-License-Identifier: Apache-2.0
"""JSON objects among the lines of a text: one a line, or one printed over several lines."""

import json
from collections.abc import Mapping
from typing import Any

from railgauge.topo.jobs.tables.text_line import TextLine

LONGEST = 1 << 23
INSIDE = (b"", *(b"%c" % sign for sign in b'"{}[],-0123456789tfn'))
"""What a line of an object that goes on over several lines begins with."""
BEYOND = 1 << 60
MOST_ENDS = 8
"""Lines that may end an object printed over several lines, of which its last one does."""


class Documents:
    """Finds the objects; what is none, or is cut, is left out."""

    def __init__(self) -> None:
        self.number = 0
        """Where the last one begins."""
        self._lines: list[bytes] = []
        self._begin = b""
        self._bytes = self._ends = 0

    @property
    def begun(self) -> bool:
        """Whether an object is being read that goes on over several lines."""
        return bool(self._lines)

    def take(self, line: TextLine) -> Mapping[str, Any] | None:
        """The object that a line is, or ends."""
        text = line.raw.strip()
        if text.startswith(b"{") and text.endswith(b"}") and (found := _object(text)) is not None:
            self._lines, self.number = [], line.number
            return found
        if self._lines and text[:1] in INSIDE:
            return self._go_on(line.raw, text)
        self._lines = []
        if text.startswith(b"{"):
            self._lines, self._bytes, self._ends, self.number = [text], len(text), 0, line.number
            self._begin = line.raw[: len(line.raw) - len(line.raw.lstrip())]
        return None

    def _go_on(self, raw: bytes, text: bytes) -> Mapping[str, Any] | None:
        self._lines.append(text)
        self._bytes += len(text)
        if raw.rstrip() == self._begin + b"}":
            self._ends += 1
            if (found := _object(b"\n".join(self._lines))) is not None:
                self._lines = []
                return found
        if self._bytes > LONGEST or self._ends >= MOST_ENDS:
            self._lines = []
        return None


def figure(value: object) -> float | None:
    """A figure of an object; None for what is negative, beyond 2^60 or no number."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < BEYOND else None  # type: ignore[arg-type, operator]


def _object(text: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text[:LONGEST])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
