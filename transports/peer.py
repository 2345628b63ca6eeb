# SPDX-License-Identifier: Apache-2.0
"""Who a rank is: what every rank tells all others before any data path exists."""

import os
import socket
from dataclasses import asdict, dataclass

from railgauge import __version__
from railgauge.topo.sources.host_identity import host_hash
from railgauge.topo.sources.reader import LiveReader


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """One rank's facts, as the others see them."""

    rank: int
    host: str
    host_id: str
    """Equal for ranks that can share memory: host name, boot id, and the pid and network namespaces."""
    pid: int
    cpus: list[int]
    """The cores that the process may use when it joins."""
    doorbell: str
    version: str = __version__

    def to_dict(self) -> dict[str, object]:
        """For the bootstrap's all-gather."""
        return asdict(self)


def this_peer(rank: int, doorbell: str) -> Peer:
    """Describe the calling process as `rank`, woken through `doorbell` (a segment descriptor)."""
    return Peer(
        rank=rank,
        host=socket.gethostname(),
        host_id=host_id(),
        pid=os.getpid(),
        cpus=sorted(os.sched_getaffinity(0)),
        doorbell=doorbell,
    )


def host_id() -> str:
    """Tell hosts apart: topo's host hash, and this process's pid and network namespaces."""
    return f"{host_hash(LiveReader(), os.environ)}/{_namespace('pid')}/{_namespace('net')}"


def _namespace(kind: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return kind
