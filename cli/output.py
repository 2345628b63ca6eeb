# SPDX-License-Identifier: Apache-2.0
"""Writes an answer: text or one JSON document on stdout, or a file.

JSON documents carry schema, version, host and time.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from railgauge import __version__
from railgauge.cli.everywhere import is_coloured
from railgauge.cli.json_text import json_text
from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.files.output_file import write_file
from railgauge.topo.values.printable import printable

if TYPE_CHECKING:
    from railgauge.topo.render.palette import Line


def document(schema: str, host: str, **content: object) -> dict[str, Any]:
    """A JSON document of that schema; `host` is "" for a machine described by a file."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"schema": f"railgauge/{schema}/1", "version": __version__, "host": host, "time": now, **content}


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON document on stdout; ignores Ctrl-C meanwhile, so that the document is whole."""
    text = json_text(content)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        print(text, flush=True)
    finally:
        signal.signal(signal.SIGINT, before)


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is; None where it is none."""
    if not sys.stdout.isatty():
        return None
    from railgauge.cli.terminal import console

    return console().width


def check_folders(paths: Sequence[str]) -> None:
    """Refuse, before a long run, a file that could not be written after it.

    Raises:
        UnavailableError: there is no folder for a file.
    """
    for path in paths:
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise UnavailableError(f"cannot write {path}: there is no folder {folder}")


def print_lines(lines: "Iterable[Line]") -> None:
    """Lines on stdout: wrapped to the width of a terminal, else each as it is; in colour where that is on."""
    from railgauge.topo.render.palette import text_of
    from railgauge.topo.render.wrapping import wrapped

    width = terminal_width()
    parts = (part for whole in lines for part in wrapped(whole, width))
    if not is_coloured(is_terminal=width is not None):
        for part in parts:
            print(text_of(part))
        return
    from rich.text import Text

    from railgauge.cli.terminal import console

    out = console()
    for part in parts:
        out.print(Text.assemble(*((text, str(ink)) for text, ink in part)))


def print_text(text: str) -> None:
    """Several lines without colour, printed in the same way."""
    from railgauge.topo.render.palette import line

    print_lines(line(one) for one in text.split("\n"))


def write_text(path: str, text: str) -> None:
    """Write text as `write_bytes` does, without control characters: the file may be shown on a terminal."""
    write_bytes(path, printable(text).encode())


def write_bytes(path: str, data: bytes) -> None:
    """Write a file (output_file.py) and say so on stderr; UnavailableError when that fails.

    UsageError for an empty name.
    """
    if not path:
        raise UsageError("the name of the output file is empty")
    if path == "-":
        raise UsageError("-o -: leave -o out to write to stdout; ./- names a file")
    write_file(path, data)
    tell(f"railgauge: wrote {path}")
