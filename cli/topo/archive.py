# SPDX-License-Identifier: Apache-2.0
"""This machine as a capture, packed: what `topo capture` and the collector write."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from railgauge.topo.errors import UsageError


class PackedCapture(NamedTuple):
    """An archive, and warnings about what could not be read."""

    data: bytes
    warnings: tuple[str, ...]


def packed_capture(suffix: str, *, redacted: bool = False, key: str | None = None) -> PackedCapture:
    """Read this machine and pack what was read, as `suffix` says.

    redacted: with pseudonyms in place of what identifies it; key: the text that they are made with, which implies it.
    """
    from railgauge.topo.facts.capture import dumps
    from railgauge.topo.machine import record

    if key == "":
        raise UsageError("--redact-key is empty: anybody could undo the pseudonyms")
    recorded, warnings = record()
    if redacted or key is not None:
        import secrets

        from railgauge.topo.facts.redaction.pseudonym import derived_key
        from railgauge.topo.facts.redaction.redaction import redact

        recorded = redact(recorded, derived_key(key) if key is not None else secrets.token_bytes(32))
    return PackedCapture(dumps(recorded, suffix), warnings)


def archive_suffix(path: str, suffixes: Sequence[str]) -> str:
    """The format by a file's name, one of `suffixes`, the first of which is that of /dev/stdout. UsageError for other
    names.
    """
    suffix = next((suffix for suffix in suffixes if path.endswith(suffix)), None)
    if _is_terminal(path):
        raise UsageError(f"-o {path} is a terminal, but an archive is binary: name a file or a pipe")
    if suffix is None and not path.startswith("/dev/"):
        raise UsageError(f"-o {path}: use a name that ends in {' or '.join(suffixes)}")
    return suffix or suffixes[0]


def _is_terminal(path: str) -> bool:
    return path == "/dev/tty" or (path in ("/dev/stdout", "/dev/fd/1") and sys.stdout.isatty())
