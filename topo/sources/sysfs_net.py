# SPDX-License-Identifier: Apache-2.0
"""Network interfaces from /sys/class/net, as NCCL's socket transport sees them.

NCCL's functions: `ncclNetSocketInit`, `ncclNetSocketGetSpeed`, `ncclTopoFillNet`. Which interfaces count is
settings/interfaces.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.settings.interfaces import choose
from railgauge.topo.sources.reader import Reader

CLASS = "/sys/class/net"
DEFAULT_MBPS = 10_000  # NCCL's assumption where the speed is unreadable or -1 (virtio)
MAX_CONNECTIONS = 65_536  # MAX_SOCKETS * MAX_THREADS of NCCL's socket transport, as dumped
IFF_UP = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketNic:
    """One interface that sockets may use. bus_id is None when no PCI device is behind it.

    `why_no_bus` then says what is.
    """

    name: str
    speed_mbps: int
    bus_id: str | None
    why_no_bus: str | None


def socket_nics(reader: Reader, environment: Mapping[str, str]) -> tuple[SocketNic, ...]:
    """The interfaces that NCCL's socket transport would use, in its order."""
    return tuple(_nic(reader, name) for name in choose(addressed(reader), environment.get("NCCL_SOCKET_IFNAME")))


def addressed(reader: Reader) -> tuple[str, ...]:
    """Interfaces with an address, by index (`getifaddrs` lists them so). Without address facts: those that are up."""
    facts = reader.facts("interfaces")
    if facts is not None:
        usable = [entry for entry in facts.get("interfaces", ()) if entry.get("addresses")]
        return tuple(str(entry["name"]) for entry in usable)
    names = [name for name in reader.entries(CLASS) if _is_up(reader, name)]
    return tuple(sorted(names, key=lambda name: _number(reader.text(f"{CLASS}/{name}/ifindex"))))


def _is_up(reader: Reader, name: str) -> bool:
    flags = reader.text(f"{CLASS}/{name}/flags")
    return bool(flags and int(flags, 16) & IFF_UP) and reader.text(f"{CLASS}/{name}/operstate") != "down"


def _number(text: str | None) -> int:
    return int(text) if text and text.lstrip("-").isdigit() else 0


def _nic(reader: Reader, name: str) -> SocketNic:
    speed = _number(reader.text(f"{CLASS}/{name}/speed"))
    bus_id, why = _bus(reader, name)
    return SocketNic(name=name, speed_mbps=speed if speed > 0 else DEFAULT_MBPS, bus_id=bus_id, why_no_bus=why)


def _bus(reader: Reader, name: str) -> tuple[str | None, str | None]:
    path = reader.realpath(f"{CLASS}/{name}/device")
    if path is None:
        return None, "it has no device"
    subsystem = (reader.realpath(f"{path}/subsystem") or "").rpartition("/")[2]
    if subsystem != "pci":
        return None, f"{path} is not a PCI device ({subsystem or 'unknown'})"
    return path.rpartition("/")[2], None
