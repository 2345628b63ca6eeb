# SPDX-License-Identifier: Apache-2.0
"""How many sockets and helper threads a connection of NET/Socket has (NCCL's `ncclNetSocketGetNsockNthread`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railgauge.topo.nccl.settings.parameter import parameter

MOST_SOCKETS = 64
MOST_THREADS = 16
"""MAX_SOCKETS and MAX_THREADS of NCCL's net_socket.cc."""
BY_VENDOR = {"0x1d0f": (2, 8), "0x1ae0": (4, 1)}
"""Threads, and sockets for each, of NICs that limit the bandwidth of each flow: AWS's and Google's."""
BY_RANK = (0, 1)
"""No helper: the rank drives one socket by itself."""
AUTOMATIC = -2


@dataclass(frozen=True, slots=True)
class SocketThreads:
    """`threads` is 0 when the rank's own thread drives the sockets. `note` says which requested value was reduced."""

    sockets: int
    threads: int
    note: str | None = None

    def __str__(self) -> str:
        """As NCCL's log has it."""
        return f"NET/Socket: Using {self.threads} threads and {self.sockets // max(1, self.threads)} sockets per thread"

    def with_sockets(self, sockets: int) -> "SocketThreads":
        """What a sender does when its receiver has another number of sockets (`ncclNetSocketConnect`)."""
        threads = next(n for n in range(max(1, min(self.threads, sockets)), 0, -1) if sockets % n == 0)
        return SocketThreads(sockets, threads if self.threads else 0)


def socket_threads(interface: str, environ: Mapping[str, str]) -> SocketThreads:
    """Those of connections that leave or come in by `interface`: NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD.

    Values that are not set depend on the NIC's vendor. Values above the limits are reduced, with a note; negative ones
    count as 0. NCCL uses one socket more, for the lengths of messages; here these precede the message.
    """
    usual = BY_VENDOR.get(_vendor(interface), BY_RANK)
    wanted = [
        value if (value := parameter(environ, name, AUTOMATIC)) != AUTOMATIC else default
        for name, default in zip(("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"), usual, strict=True)
    ]
    threads = min(max(0, wanted[0]), MOST_THREADS)
    each = min(max(1, wanted[1]), MOST_SOCKETS // max(1, threads))
    notes = []
    if wanted[0] > MOST_THREADS:
        notes.append(f"NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to {MOST_THREADS}")
    if threads and wanted[1] > each:
        notes.append(
            f"the total number of sockets is greater than the maximum allowed, setting NCCL_NSOCKS_PERTHREAD to {each}"
        )
    return SocketThreads(max(1, threads * each), threads, "; ".join(notes) or None)


def _vendor(interface: str) -> str:
    try:
        return Path(f"/sys/class/net/{interface}/device/vendor").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
