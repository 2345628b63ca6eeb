# SPDX-License-Identifier: Apache-2.0
"""Addresses and flags of this host's network interfaces: which sysfs does not have (its flags lack IFF_RUNNING).

IPv4 from the SIOCGIFADDR request, IPv6 from /proc/net/if_inet6, flags from SIOCGIFFLAGS.
"""

import fcntl
import socket
import struct
from typing import Any

SIOCGIFADDR, SIOCGIFFLAGS, SIOCGIFNETMASK = 0x8915, 0x8913, 0x891B  # linux/sockios.h


def live_interfaces() -> dict[str, Any]:
    """{"interfaces": [{"name", "index", "flags", "addresses": [...]}, ...]} by index.

    An interface without addresses has [], unreadable flags are null; "prefix" is the length of the IPv4 network's.
    {"error": reason} where a sandbox forbids asking.
    """
    six = _ipv6_addresses()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            named = socket.if_nameindex()
            return {"interfaces": [_interface(probe, index, name, six.get(name, [])) for index, name in named]}
    except OSError as error:
        return {"error": f"addresses of network interfaces: {error.strerror or error}"}


def _interface(probe: socket.socket, index: int, name: str, six: list[str]) -> dict[str, Any]:
    address, flags, mask = (_ask(probe, what, name) for what in (SIOCGIFADDR, SIOCGIFFLAGS, SIOCGIFNETMASK))
    return {
        "name": name,
        "index": index,
        "flags": struct.unpack_from("H", flags, 16)[0] if flags else None,
        "prefix": int.from_bytes(mask[20:24], "big").bit_count() if mask else None,
        "addresses": ([socket.inet_ntoa(address[20:24])] if address else []) + six,
    }


def _ask(probe: socket.socket, request: int, name: str) -> bytes | None:
    """The answer about one interface (struct ifreq); None without one, such as no IPv4 address."""
    try:
        return fcntl.ioctl(probe.fileno(), request, struct.pack("256s", name.encode()[:15]))
    except OSError:
        return None


def _ipv6_addresses() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        with open("/proc/net/if_inet6") as file:
            rows = [line.split() for line in file]
    except OSError:
        return found
    for row in rows:
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0]))
        found.setdefault(row[5], []).append(address)
    return found
