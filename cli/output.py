# SPDX-License-Identifier: Apache-2.0
"""How an answer leaves: text or one JSON document on stdout, or a file.

JSON documents carry schema, version, host and time.
"""

import contextlib
import json
import os
import stat
import sys
import time
from typing import Any

from railgauge import __version__
from railgauge.topo.errors import UnavailableError, UsageError

STDOUT = "/dev/stdout"
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # names of what is open already: never to be replaced


def document(schema: str, host: str, **content: object) -> dict[str, Any]:
    """A JSON document of that schema; `host` is "" for a machine that a file describes."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"schema": f"railgauge/{schema}/1", "version": __version__, "host": host, "time": now, **content}


def json_text(content: dict[str, Any], indent: int | None = 1) -> str:
    """The document as text; ValueError for a number that JSON has no spelling of (NaN, Infinity)."""
    return json.dumps(content, indent=indent, allow_nan=False)


def print_json(content: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    print(json_text(content))


def write_text(path: str, text: str) -> None:
    """As `write_bytes`, of text."""
    write_bytes(path, text.encode())


def write_bytes(path: str, data: bytes) -> None:
    """Write a file whole or not at all; UnavailableError when that fails.

    A link stays and its target is replaced; a device, a pipe or an open stream is written to as it is. UsageError
    for an empty name.
    """
    if not path:
        raise UsageError("the name of the file to write is empty")
    if path == "-":
        raise UsageError("-o -: without -o the answer goes to stdout; /dev/stdout and ./- are names")
    try:
        if _is_stream(path):
            with open(os.dup(1) if path == STDOUT else path, "ab") as stream:  # a socket cannot be opened by its name
                stream.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:
        raise UnavailableError(f"cannot write {path}: {error.strerror}") from error
    print(f"railgauge: wrote {path}", file=sys.stderr)


def _is_stream(path: str) -> bool:
    if os.path.abspath(path).startswith(STREAMS):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False  # not there yet


def _replace(path: str, data: bytes) -> None:
    part = f"{path}.{os.getpid()}.part"
    with open(part, "xb") as file:
        try:
            file.write(data)
            file.flush()
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
