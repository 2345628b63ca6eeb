# SPDX-License-Identifier: Apache-2.0
"""Writes an answer: text or one JSON document on stdout, or a file.

JSON documents carry schema, version, host and time.
"""

import json
import signal
import time
from typing import Any

from railgauge import __version__
from railgauge.cli.streams import tell
from railgauge.topo.errors import UsageError
from railgauge.topo.files.output_file import write_file
from railgauge.topo.values.printable import printable


def document(schema: str, host: str, **content: object) -> dict[str, Any]:
    """A JSON document of that schema; `host` is "" for a machine described by a file."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"schema": f"railgauge/{schema}/1", "version": __version__, "host": host, "time": now, **content}


def json_text(content: dict[str, Any], indent: int | None = 1) -> str:
    """The document as text; ValueError for a number that JSON cannot express (NaN, Infinity)."""
    return json.dumps(content, indent=indent, allow_nan=False)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON document on stdout; ignores Ctrl-C meanwhile, so that the document is whole."""
    text = json_text(content)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        print(text, flush=True)
    finally:
        signal.signal(signal.SIGINT, before)


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
