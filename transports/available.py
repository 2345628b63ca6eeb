# SPDX-License-Identifier: Apache-2.0
"""Which transports this machine has, found by trying them, and what is missing where one does not work."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge._native import transports as native
from railgauge.topo.errors import Error
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.process import live_process
from railgauge.topo.facts.sources.sysfs_pci import gpu_bus_ids
from railgauge.transports.ib.device import find_devices
from railgauge.transports.interface import usable_interfaces
from railgauge.transports.peer import this_peer
from railgauge.transports.select import NET_IB, NET_SOCKET, SHM, why_not_shm

P2P = "P2P"
NAMES = (P2P, SHM, NET_SOCKET, NET_IB)
"""The transports of NCCL that move data between ranks."""
OF_GPUS = frozenset((P2P,))
"""Between GPUs alone."""
PROBE_BYTES = 4096
OPENED = "opened"


@dataclass(frozen=True, slots=True)
class Available:
    """One transport on this machine."""

    name: str
    why_not: str | None
    """What is missing; None when it works."""
    by: tuple[str, ...] = ()
    """What it would use, such as `NET/Socket/0 over eth0:10.0.0.1<0>`; or the GPUs of this machine."""


def available(environ: Mapping[str, str] = os.environ) -> list[Available]:
    """All transports, in the order of `NAMES`."""
    gpus = gpu_bus_ids(LiveReader())
    found = {
        P2P: Available(P2P, None if len(gpus) > 1 else _here("NVIDIA GPU", gpus), gpus),
        SHM: Available(SHM, _why_not_shm(environ)),
        NET_SOCKET: _socket(environ),
        NET_IB: _ib(environ),
    }
    return [found[name] for name in NAMES]


def _ib(environ: Mapping[str, str]) -> Available:
    found = find_devices(LiveReader("/", {"process": live_process}), environ)
    by = tuple(f"{NET_IB}/{one.number} over {one.where}" for one in found.devices)
    return Available(NET_IB, found.why_not, by)


def _here(what: str, found: tuple[str, ...]) -> str:
    return f"this machine has {len(found) or 'no'} {what}{'s' * (len(found) > 1)}"


def _why_not_shm(environ: Mapping[str, str]) -> str | None:
    if why := why_not_shm(this_peer(0, environ=environ), this_peer(1, environ=environ)):
        return why
    try:
        segment = native.ShmReceiver(0, native.Doorbell(), 2, PROBE_BYTES)
    except Error as error:
        return str(error)
    return _why_another_cannot(segment.descriptor)


def _why_another_cannot(descriptor: str) -> str | None:
    """Open a segment in another process, as a peer would: /proc may hide it, or a container may forbid it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            native.ShmSender(0, native.Doorbell(), descriptor)
            os.write(writer, OPENED.encode())
        except Error as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if said == OPENED:
        return None
    return (
        said or f"the process that tried to open a shared segment ended with status {os.waitstatus_to_exitcode(status)}"
    )


def _socket(environ: Mapping[str, str]) -> Available:
    try:
        interfaces = usable_interfaces(environ)
    except Error as error:
        return Available(NET_SOCKET, str(error))
    return Available(NET_SOCKET, None, tuple(f"{NET_SOCKET}/{i} over {one}" for i, one in enumerate(interfaces)))
