# SPDX-License-Identifier: Apache-2.0
"""What this host's kernel knows about a failed connection: its routes, its neighbours, its reverse-path filters."""

import contextlib
import socket
from pathlib import Path

from railgauge.topo.findings.cluster.reach import Hint
from railgauge.transports.tcp import SocketAddress, family_of, socket_address

ARP, COUNTERS = "/proc/net/arp", "/proc/net/netstat"
INCOMPLETE = "0x0"  # proc(5): ATF_COM is not set
DROPPED = "IPReversePathFilter"  # linux/snmp.h


def hint(source: str, target: SocketAddress) -> Hint:
    """Why connecting to `target` from this host's address `source` fails, as far as this host knows."""
    if not _is_routed(source, target):
        return Hint.NO_ROUTE
    return Hint.NO_NEIGHBOUR if _is_incomplete(str(target[0])) else Hint.NONE


def _is_routed(source: str, target: SocketAddress) -> bool:
    """Whether there is a route; connecting a datagram socket looks it up and sends nothing."""
    with socket.socket(family_of(target), socket.SOCK_DGRAM) as sock:
        try:
            sock.bind(socket_address(source, 0))
            sock.connect(target)
        except OSError:
            return False
    return True


def _is_incomplete(address: str) -> bool:
    """Whether the kernel asked its network for an IPv4 address and nobody answered."""
    rows = [line.split() for line in _lines(ARP)[1:]]
    return {row[2] for row in rows if len(row) > 2 and row[0] == address} == {INCOMPLETE}


def filtered_packets() -> int:
    """How many packets the reverse-path filters of this network namespace have dropped; 0 if not reported."""
    rows = [line.split() for line in _lines(COUNTERS)]
    for names, values in zip(rows[::2], rows[1::2], strict=False):
        if DROPPED in names:
            return int(values[names.index(DROPPED)])
    return 0


def _lines(path: str) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(path).read_text().splitlines()
    return []
