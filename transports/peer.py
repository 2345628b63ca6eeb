# SPDX-License-Identifier: Apache-2.0
"""A rank's facts, which every rank sends to all others before any data path exists (NCCL's `ncclPeerInfo`,
`fillInfo`).
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge import __version__
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.host_identity import BOOT_ID, host_hash, nccl_hash
from railgauge.topo.nccl.settings.agreement import compared
from railgauge.topo.values.printable import all_printable
from railgauge.transports.typed import read_as

SHM_FOLDER = "/dev/shm"


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """One rank's facts, as the others see them."""

    rank: int
    host: str
    host_id: str
    """Equal for ranks that count as one host: NCCL's host hash and the network namespace; without NCCL_HOSTID the pid
    namespace too."""
    host_hash: str
    """NCCL's `getHostHash`, as `0x...`; "" when nothing distinguishes hosts."""
    pid_hash: str
    """NCCL's `getPidHash`: pid and pid namespace."""
    pid: int
    pid_namespace: str
    """Processes in different ones do not find each other in /proc."""
    shm_device: int | None
    """st_dev of /dev/shm: ranks with different ones share no memory. None: there is none."""
    cpus: list[int]
    """The cores that the process may use when it joins."""
    bus_id: str | None = None
    """Its GPU as `0000:1b:00.0`; None of a rank in host memory, like the next three."""
    device: int | None = None
    gpu: str | None = None
    """Its name."""
    gdr: bool | None = None
    """Whether NICs reach its GPU's memory."""
    settings: dict[str, str] = field(default_factory=dict)
    """The NCCL_* settings that ranks have to agree on, if set."""
    flags: dict[str, str] = field(default_factory=dict)
    """What the rank was asked to do, by option; ranks have to agree on all of it."""
    version: str = __version__

    @classmethod
    def received(cls, value: object) -> "Peer":
        """What another rank sent; ValueError: it has another form."""
        peer: Peer = read_as(cls, all_printable(value))
        return peer


def this_peer(
    rank: int,
    *,
    bus_id: str | None = None,
    device: int | None = None,
    gpu: str | None = None,
    gdr: bool | None = None,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Peer:
    """Describe the calling process as `rank`."""
    return Peer(
        rank=rank,
        host=socket.gethostname(),
        host_id=host_id(environ),
        host_hash=host_hash(LiveReader(), environ) or "",
        pid_hash=f"{nccl_hash((str(os.getpid()) + _namespace('pid')).encode()):#x}",
        pid=os.getpid(),
        pid_namespace=_namespace("pid"),
        shm_device=_shm_device(),
        cpus=sorted(os.sched_getaffinity(0)),
        bus_id=bus_id,
        device=device,
        gpu=gpu,
        gdr=gdr,
        settings=compared(environ),
        flags=dict(flags or {}),
    )


def host_id(environ: Mapping[str, str] = os.environ) -> str:
    """Identify a host: topo's host hash, and this process's pid and network namespaces. Containers, of which each has a
    pid namespace and often only its own devices, are one host if NCCL_HOSTID says so.
    """
    named = environ.get("NCCL_HOSTID")
    return f"{host_hash(LiveReader(), environ)}/{'' if named else _namespace('pid')}/{_namespace('net')}"


def network_id() -> str:
    """Equal for processes that reach each other's loopback addresses: one boot, one network namespace."""
    return f"{LiveReader().text(BOOT_ID)}/{_namespace('net')}"


def _namespace(kind: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return kind


def _shm_device() -> int | None:
    try:
        return os.stat(SHM_FOLDER).st_dev
    except OSError:
        return None
