# SPDX-License-Identifier: Apache-2.0
"""Addresses of this host's network interfaces: the one thing about them that sysfs does not tell.

IPv4 from the SIOCGIFADDR request, IPv6 from /proc/net/if_inet6.
"""

import fcntl
import socket
import struct
from typing import Any

SIOCGIFADDR = 0x8915  # linux/sockios.h


def live_interfaces() -> dict[str, Any]:
    """{"interfaces": [{"name", "index", "addresses": [...]}, ...]} by index; an interface without addresses has []."""
    six = _ipv6_addresses()
    return {
        "interfaces": [
            {"name": name, "index": index, "addresses": _ipv4_address(name) + six.get(name, [])}
            for index, name in socket.if_nameindex()
        ]
    }


def _ipv4_address(name: str) -> list[str]:
    request = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            return [socket.inet_ntoa(fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)[20:24])]
        except OSError:
            return []  # no IPv4 address


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
