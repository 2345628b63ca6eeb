# SPDX-License-Identifier: Apache-2.0
"""NCCL's log lines, as its users and their parsers know them.

NCCL_DEBUG (INFO or TRACE; lower levels print nothing here), NCCL_DEBUG_SUBSYS (a list; `^` in front excludes them) and
NCCL_DEBUG_FILE (%h is the host, %p the pid) have NCCL's meaning (ncclDebugInit). Without a file the lines go to stderr:
stdout is for the answer.
"""

import atexit
import contextlib
import functools
import os
import re
import socket
import sys
import threading
from collections.abc import Mapping
from typing import TextIO

from railgauge.topo.values.printable import inline

SUBSYSTEMS = ("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS",
              "BOOTSTRAP", "REG", "PROFILE", "RAS")  # fmt: skip
DEFAULT_SUBSYSTEMS = frozenset({"INIT", "BOOTSTRAP", "ENV"})


class NcclLog:
    """Writes one rank's log lines; `device` is the number in brackets."""

    def __init__(self, device: int, environ: Mapping[str, str] | None = None) -> None:
        env = os.environ if environ is None else environ
        name = env.get("NCCL_DEBUG", "").upper()
        self._wanted = name in ("INFO", "ABORT", "TRACE")
        self._subsystems = subsystems(env.get("NCCL_DEBUG_SUBSYS", ""))
        self._host = socket.gethostname().split(".")[0]
        path = expand(env.get("NCCL_DEBUG_FILE", ""), self._host)
        self._stream = _opened(path) if self._wanted and path else None
        self._device = device

    def info(self, subsystem: str, message: str, also: str = "") -> None:
        """Write an INFO line, if its subsystem (or the other it belongs to) is wanted."""
        if self._wanted and not self._subsystems.isdisjoint({subsystem, also}):
            prefix = f"{self._host}:{os.getpid()}:{threading.get_native_id()} [{self._device}]"
            (self._stream or sys.stderr).write(f"{prefix} NCCL INFO {inline(message)}\n")


def expand(path: str, host: str) -> str:
    """Put host and pid into NCCL_DEBUG_FILE: %h, %p, and %% for itself."""
    values = {"%h": host, "%p": str(os.getpid()), "%%": "%"}
    return re.sub("%[hp%]", lambda found: values[found.group()], path)


@functools.cache
def _opened(path: str) -> TextIO | None:
    """The log file, once per process, until that ends; the ranks of a run may share it, so it is added to. None: stderr
    instead.
    """
    try:
        stream = open(path, "a", buffering=1, opener=_without_waiting)  # noqa: SIM115  (closed at the end)
    except OSError as error:
        print(f"railgauge: cannot write NCCL_DEBUG_FILE {path}: {error.strerror}; using stderr", file=sys.stderr)
        return None
    atexit.register(_close, stream)
    return stream


def _close(stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        stream.close()  # it is a pipe, and its reader has gone


def _without_waiting(path: str, flags: int) -> int:
    """Open it; a pipe that nobody reads is an error rather than an endless wait."""
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(descriptor, True)
    return descriptor


def subsystems(text: str) -> frozenset[str]:
    """Read NCCL_DEBUG_SUBSYS; unknown names are ignored, as in NCCL."""
    if not text:
        return DEFAULT_SUBSYSTEMS
    inverted = text.startswith("^")
    names = {name.strip().upper() for name in text.lstrip("^").split(",")}
    chosen = set(SUBSYSTEMS) if "ALL" in names else names & set(SUBSYSTEMS)
    return frozenset(set(SUBSYSTEMS) - chosen if inverted else chosen)
