# SPDX-License-Identifier: Apache-2.0
"""Network interfaces from /sys/class/net, as NCCL's socket transport sees them.

NCCL's functions: `ncclNetSocketInit`, `ncclNetSocketGetSpeed`, `ncclTopoFillNet`.
nccl/settings/interfaces.py chooses among them.
"""

from typing import NamedTuple

from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources.sysfs_pci import is_placed, pci_function
from railgauge.topo.values.number import strtol, whole

CLASS = "/sys/class/net"
MAX_CONNECTIONS = 65_536  # MAX_SOCKETS * MAX_THREADS of NCCL's socket transport, as dumped
IFF_UP, IFF_RUNNING = 0x1, 0x40  # linux/if.h
LOOPBACK = "::1"  # which NCCL passes over
FAMILIES = {"AF_INET": False, "AF_INET6": True}
"""NCCL_SOCKET_FAMILY: whether addresses are of IPv6; NCCL ignores other values."""


class SocketNic(NamedTuple):
    """One interface that sockets may use. bus_id is None when no PCI device is behind it.

    `why_no_bus` then says what is. speed_mbps is None when it cannot be read.
    """

    name: str
    speed_mbps: int | None
    bus_id: str | None
    why_no_bus: str | None


def addressed(reader: Reader, family: str | None = None, *, running: bool = True) -> tuple[str, ...]:
    """Interfaces that are running, or any, with an address, in the order of `getifaddrs`: by index, IPv4 first.

    `family` is NCCL_SOCKET_FAMILY, which leaves those with an address of that one. Without address facts: those that
    are up.
    """
    six = FAMILIES.get(family or "")
    facts = reader.facts("interfaces")
    if facts is not None and "error" not in facts:
        listed = facts.get("interfaces", ())
        usable = [entry for entry in listed if _addresses(entry, six) and (_is_running(entry) or not running)]
        return tuple(entry["name"] for entry in sorted(usable, key=lambda entry: not six and not _has_ipv4(entry)))
    names = [name for name in reader.entries(CLASS) if _is_up(reader, name)]
    return tuple(sorted(names, key=lambda name: whole(reader.text(f"{CLASS}/{name}/ifindex")) or 0))


def why_no_addresses(reader: Reader) -> tuple[str, ...]:
    """Why the addresses of interfaces are unknown; empty if they are known or were not requested."""
    reason = (reader.facts("interfaces") or {}).get("error")
    return (f"{reason}: assuming that interfaces that are up have one",) if reason else ()


def _addresses(entry: Facts, six: bool | None = None) -> list[str]:
    """Those that NCCL considers: of IPv6 if `six`, of IPv4 if it is False."""
    meant = [address for address in entry.get("addresses", ()) if address != LOOPBACK]
    return meant if six is None else [address for address in meant if (":" in address) == six]


def _has_ipv4(entry: Facts) -> bool:
    return any(":" not in address for address in _addresses(entry))


def _is_running(entry: Facts) -> bool:
    """Whether an interface is connected; captures of before flags were recorded count as such."""
    flags = entry.get("flags")
    return flags is None or bool(flags & IFF_RUNNING)


def _is_up(reader: Reader, name: str) -> bool:
    path = f"{CLASS}/{name}/flags"
    flags = strtol(reader.text(path) or "") or 0
    return bool(flags & IFF_UP) and reader.text(f"{CLASS}/{name}/operstate") != "down"


def read_nic(reader: Reader, name: str) -> SocketNic:
    """One interface by its name."""
    speed = whole(reader.text(f"{CLASS}/{name}/speed"))
    folder = f"{CLASS}/{name}"
    bus_id, why = pci_function(reader, reader.realpath(f"{folder}/device"), placed=is_placed(reader, folder))
    return SocketNic(name=name, speed_mbps=speed if speed and speed > 0 else None, bus_id=bus_id, why_no_bus=why)
