# SPDX-License-Identifier: Apache-2.0
"""NCCL's log (NCCL_DEBUG), kept where it can be read back: stdout, where NCCL writes, is for the answer.

The user's settings stay: without NCCL_DEBUG it is INFO on INIT, GRAPH and ENV, which is written while ranks connect.
TUNING would name algorithm and protocol, but writes a line for each operation, which slows it down while it is
measured: it is on only if the user asks for it (NCCL_DEBUG_SUBSYS).
"""

import atexit
import os
import re
import socket
import sys
from collections.abc import MutableMapping

from railgauge.collectives.bench import Ran
from railgauge.topo.jobs.logs.log import Log
from railgauge.transports.nccl_log import expand

SUBSYSTEMS = "INIT,GRAPH,ENV"
MOST_BYTES = 64 << 20
"""The most bytes of it that are read."""
CHOICE = re.compile(
    rb"Bytes -> (?:Algo (?P<algorithm>\w+) proto (?P<protocol>\w+) channel\{Lo..Hi\}=\{(?P<low>\d+)..(?P<high>\d+)\}"
    rb"|Kernel (?P<kernel>\S+) nchannels (?P<channels>\d+))"
)
"""TUNING's lines on an operation, since 2.24; the latter for symmetric memory."""
WARN = re.compile(rb"^.*NCCL WARN .*$", re.MULTILINE)


class NcclDebugFile:
    """An anonymous file in memory, or the file of the user's NCCL_DEBUG_FILE. Made before the process first calls
    NCCL.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._all = bool(environ.get("NCCL_DEBUG"))
        """Whether the user asked for all of it."""
        self._own: int | None = None
        if named := environ.get("NCCL_DEBUG_FILE"):
            self._path = expand(named, socket.gethostname().split(".")[0])
        else:
            self._own = os.memfd_create("railgauge-nccl-debug")
            self._path = environ["NCCL_DEBUG_FILE"] = f"/proc/self/fd/{self._own}"
            atexit.register(self._forward_at_end, os.getpid())
        if not self._all:
            environ["NCCL_DEBUG"] = "INFO"
            environ.setdefault("NCCL_DEBUG_SUBSYS", SUBSYSTEMS)

    def log(self) -> Log:
        """Its content so far."""
        found = Log()
        found.read(self._read(0))
        return found

    def last_choice(self, begin: int) -> tuple[Ran | None, int]:
        """How the last operation logged from this position on was run, None without one; and where that one ends."""
        text = self._read(begin)
        end = begin + len(text)
        choices = list(CHOICE.finditer(text))
        if not choices:
            return None, end
        last = choices[-1]
        if last["kernel"]:
            return Ran(last["kernel"].decode(), None, int(last["channels"]), 0.0), end
        channels = int(last["high"]) - int(last["low"]) + 1
        return Ran(last["algorithm"].decode().lower(), last["protocol"].decode().lower(), channels, 0.0), end

    def forward(self) -> None:
        """Copy to stderr what NCCL would have written to stdout: all if the user set NCCL_DEBUG, else warnings."""
        text = self._read(0)
        lines = text.splitlines() if self._all else dict.fromkeys(WARN.findall(text))
        for line in lines:
            print(line.decode(errors="replace"), file=sys.stderr)

    def _forward_at_end(self, owner: int) -> None:
        if os.getpid() == owner:  # not at the end of a process forked from it
            self.forward()

    def _read(self, begin: int) -> bytes:
        try:
            with open(self._path, "rb") as file:
                file.seek(begin)
                return file.read(MOST_BYTES)
        except OSError:
            return b""  # NCCL has not written, or could not
