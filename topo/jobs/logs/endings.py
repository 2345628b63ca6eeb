# SPDX-License-Identifier: Apache-2.0
"""The errors that the files of a log end in, each with the Python package that raised it."""

import re

from railgauge.topo.jobs.logs.ending import error_at_end, weak_error_at_end

LAST_BYTES = 1 << 16
MOST_ENDINGS = 1 << 10  # files whose ends are kept
FRAME = re.compile(r'File "[^"\n]{0,400}/(?:site|dist)-packages/(?P<package>[\w.-]{1,60})/[^"\n]{1,200}", line \d')


class Endings:
    """The end of the file that is read, and of those before it."""

    def __init__(self) -> None:
        self._tail = b""
        self._ended: dict[str, str] = {}

    def take(self, block: bytes) -> None:
        """Take in a block of whole lines."""
        self._tail = (block if len(block) >= LAST_BYTES else self._tail + block)[-LAST_BYTES:]

    def found(self, *, weak: bool) -> dict[str, str]:
        """The errors so far, one a file at most, and the packages, "" where no traceback names one. weak: words that
        count where a file has nothing else count too.
        """
        now = error_at_end(self._tail) or (weak_error_at_end(self._tail) if weak else "")
        return self._ended | ({now: _package_above(self._tail, now)} if now else {})

    def end_file(self, *, weak: bool) -> None:
        """The file is at its end; another may follow."""
        self._ended = dict(list(self.found(weak=weak).items())[:MOST_ENDINGS])
        self._tail = b""


def _package_above(tail: bytes, text: str) -> str:
    """The package of the last frame above a line."""
    above = tail.decode("utf-8", "replace").partition(text)[0]
    frames = [found["package"] for found in FRAME.finditer(above)]
    return frames[-1] if frames else ""
