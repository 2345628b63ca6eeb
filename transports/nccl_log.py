# SPDX-License-Identifier: Apache-2.0
"""NCCL's log lines, as its users and their parsers know them.

NCCL_DEBUG (VERSION, WARN, INFO, TRACE), NCCL_DEBUG_SUBSYS (a list; `^` in front takes them away) and NCCL_DEBUG_FILE
(%h is the host, %p the pid) have NCCL's meaning (ncclDebugInit). Without a file the lines go to stderr: stdout is for
the answer.
"""

import os
import socket
import sys
import threading
from collections.abc import Mapping

LEVELS = ("NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE")
SUBSYSTEMS = ("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS",
              "BOOTSTRAP", "REG", "PROFILE", "RAS")  # fmt: skip
DEFAULT_SUBSYSTEMS = frozenset({"INIT", "BOOTSTRAP", "ENV"})


class NcclLog:
    """Writes one rank's log lines; `device` is the number in brackets."""

    def __init__(self, device: int, environ: Mapping[str, str] | None = None) -> None:
        env = os.environ if environ is None else environ
        name = env.get("NCCL_DEBUG", "").upper()
        self._level = LEVELS.index(name) if name in LEVELS else 0
        self._subsystems = subsystems(env.get("NCCL_DEBUG_SUBSYS", ""))
        self._file = env.get("NCCL_DEBUG_FILE", "").replace("%h", socket.gethostname()).replace("%p", str(os.getpid()))
        self._device = device

    def info(self, subsystem: str, message: str, also: str = "") -> None:
        """Write an INFO line, if its subsystem (or the other it belongs to) is wanted."""
        if self._level >= LEVELS.index("INFO") and not self._subsystems.isdisjoint({subsystem, also}):
            self._write(f"NCCL INFO {message}")

    def warn(self, message: str) -> None:
        """Write a WARN line."""
        if self._level >= LEVELS.index("WARN"):
            self._write(f"NCCL WARN {message}")

    def _write(self, text: str) -> None:
        line = f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()} [{self._device}] {text}\n"
        if not self._file:
            sys.stderr.write(line)
            return
        with open(self._file, "a") as file:  # one write, so that ranks sharing a file do not mix their lines
            file.write(line)


def subsystems(text: str) -> frozenset[str]:
    """Read NCCL_DEBUG_SUBSYS; unknown names are passed over, as NCCL does."""
    if not text:
        return DEFAULT_SUBSYSTEMS
    inverted = text.startswith("^")
    names = {name.strip().upper() for name in text.lstrip("^").split(",")}
    chosen = set(SUBSYSTEMS) if "ALL" in names else names & set(SUBSYSTEMS)
    return frozenset(set(SUBSYSTEMS) - chosen if inverted else chosen)
