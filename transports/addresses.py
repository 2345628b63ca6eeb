# SPDX-License-Identifier: Apache-2.0
"""IP addresses of this host's network interfaces, in the order of getifaddrs(3), which NCCL uses; and how an address is
written, and reached from here.
"""

import ctypes
import ipaddress
import os
import socket
from dataclasses import dataclass
from typing import Any

from railgauge.topo.errors import UnavailableError, UsageError

IFF_UP, IFF_RUNNING = 0x1, 0x40  # linux/if.h: set up by the administrator; and connected to something (carrier)

LINK_LOCAL = ("fe8", "fe9", "fea", "feb")  # fe80::/10


@dataclass(frozen=True, slots=True)
class Address:
    """One address of one interface. The text of link-local IPv6 includes the scope: `fe80::1%eth0`."""

    interface: str
    text: str
    family: socket.AddressFamily
    prefix_bits: int
    obstacle: str = ""
    """Why nothing goes through its interface: `down`, or `no carrier`."""

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """Its subnet."""
        return ipaddress.ip_network(f"{self.text.partition('%')[0]}/{self.prefix_bits}", strict=False)

    @property
    def is_ipv6_loopback(self) -> bool:
        """Whether it is ::1."""
        return self.text == "::1"


def host_and_port(host: str, port: int) -> str:
    """HOST:PORT, or [IPV6]:PORT."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_scope(host: str) -> None:
    """Refuse a link-local IPv6 address without an interface.

    Raises:
        UsageError: it has none.
    """
    if host.lower().startswith(LINK_LOCAL) and ":" in host and "%" not in host:
        raise UsageError(f"{host} is link-local and needs an interface: {host}%IFACE, as in fe80::1%eth0")


def with_scope(address: tuple[Any, ...]) -> str:
    """A socket address as text, link-local IPv6 with its interface (`fe80::1%eth0`)."""
    scope = address[3] if len(address) == 4 else 0
    return f"{address[0]}%{socket.if_indextoname(scope)}" if scope else str(address[0])


def from_here(address: str, interface: str) -> str:
    """Another host's address as this one reaches it: the scope of a link-local one is our interface, not theirs."""
    plain = address.partition("%")[0]
    return f"{plain}%{interface}" if plain.lower().startswith(LINK_LOCAL) else plain


class _IfAddrs(ctypes.Structure):
    """The struct ifaddrs of ifaddrs.h, without its last two members."""


_IfAddrs._fields_ = [
    ("next", ctypes.POINTER(_IfAddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.c_void_p),
    ("netmask", ctypes.c_void_p),
]


def local_addresses() -> list[Address]:
    """All IPv4 and IPv6 addresses.

    Raises:
        UnavailableError: the system does not list them (some sandboxes).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_IfAddrs)()
    if libc.getifaddrs(ctypes.byref(first)):
        reason = os.strerror(ctypes.get_errno())
        raise UnavailableError(f"getifaddrs: cannot list the network interfaces of this host: {reason}")
    try:
        found, at = [], first
        while at:
            if address := _address(at.contents):
                found.append(address)
            at = at.contents.next
        return found
    finally:
        libc.freeifaddrs(first)


def _address(entry: _IfAddrs) -> Address | None:
    """One entry as an Address; None when it has no IP address."""
    if not entry.address:
        return None
    family = ctypes.c_ushort.from_address(entry.address).value
    if family not in (socket.AF_INET, socket.AF_INET6):
        return None
    address = _raw(entry.address, family)
    ones = sum(byte.bit_count() for byte in _raw(entry.netmask, family)) if entry.netmask else 8 * len(address)
    text, name = socket.inet_ntop(family, address), os.fsdecode(entry.name)
    scoped = f"{text}%{name}" if text.startswith(LINK_LOCAL) else text
    obstacle = "" if entry.flags & IFF_RUNNING else "no carrier" if entry.flags & IFF_UP else "down"
    return Address(name, scoped, socket.AddressFamily(family), ones, obstacle)


def _raw(sockaddr: int, family: int) -> bytes:
    """The address within a struct sockaddr_in or sockaddr_in6 (netinet/in.h)."""
    offset, size = (4, 4) if family == socket.AF_INET else (8, 16)
    return ctypes.string_at(sockaddr + offset, size)
