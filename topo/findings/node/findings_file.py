# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON document of an earlier `check --json`. Unknown fields are ignored."""

import os
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.json_value import json_value
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.printable import all_printable

SCHEMA = "railgauge/findings/1"
MOST_BYTES = 64 << 20
HEAD = 64  # bytes that identify a JSON object
TEXTS = ("id", "subject", "message", "effect", "remedy", "host")
WRITTEN_BY = "as `railgauge check -o FILE.json` writes"


def is_findings_file(path: str) -> bool:
    """Whether a file holds a JSON object, where a machine is an archive, a description or XML."""
    if not os.path.isfile(path):
        return False
    return read_bytes(path, HEAD).lstrip().startswith(b"{")


def load(path: str) -> tuple[str, tuple[Finding, ...]]:
    """The host and its findings; InputError if it is not such a document."""
    data = read_bytes(path, MOST_BYTES)
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a findings document {WRITTEN_BY}", path)
    try:
        document = all_printable(json_value(data))
    except ValueError as error:
        raise InputError(str(error), path) from None
    listed = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(listed, list) or document.get("schema") != SCHEMA:
        raise InputError(f"not a {SCHEMA} document {WRITTEN_BY}", path)
    return str(document.get("host", "")), tuple(_finding(one, place, path) for place, one in enumerate(listed))


def _finding(record: Any, place: int, path: str) -> Finding:
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in TEXTS):
        raise InputError(f"findings[{place}] lacks one of the strings {', '.join(TEXTS)}", path)
    if record.get("level") not in tuple(Level):
        raise InputError(f"findings[{place}].level is {record.get('level')!r}: not a level", path)
    evidence = record.get("evidence")
    return Finding(
        level=Level(record["level"]),
        evidence=evidence if isinstance(evidence, dict) else {},
        path=record.get("path") if isinstance(record.get("path"), str) else None,
        **{key: record[key] for key in TEXTS},
    )
