# SPDX-License-Identifier: Apache-2.0
"""How an answer leaves: text or one JSON document on stdout, or a file.

JSON documents carry schema, version, host and time.
"""

import json
import os
import sys
import time
from typing import Any

from railgauge import __version__
from railgauge.topo.errors import UnavailableError


def document(schema: str, host: str, **content: object) -> dict[str, Any]:
    """A JSON document of that schema; `host` is "" for a machine that a file describes."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"schema": f"railgauge/{schema}/1", "version": __version__, "host": host, "time": now, **content}


def print_json(content: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    print(json.dumps(content, indent=1))


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all; UnavailableError when that fails."""
    whole = f"{path}.{os.getpid()}.part"
    try:
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(whole, path)
    except OSError as error:
        raise UnavailableError(f"cannot write {path}: {error.strerror}") from error
    print(f"railgauge: wrote {path}", file=sys.stderr)
