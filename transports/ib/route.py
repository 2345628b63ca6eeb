# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel has a route from a RoCE port to the ports of other ranks, checked before connecting.

A port's packets leave by its own interface, so a route through another one (often the default route) does not count.
The check reads the routing table itself (rtnetlink(7), RTM_F_FIB_MATCH): a plain look-up by interface reports an
address without a route as on-link.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterable

from railgauge.transports.ib.device import IbPort

RTM_GETROUTE, NLM_F_REQUEST, NLMSG_ERROR = 26, 1, 2
RTA_DST, RTA_SRC, RTA_OIF = 1, 2, 4
RTM_F_FIB_MATCH = 0x2000
HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
ROUTE = struct.Struct("=BBBBBBBBI")  # rtmsg: family, bits of destination and source, tos, table, ..., flags
ADDRESS_BITS = 32
ANSWER_BYTES = 4096
NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH)
WITHIN_S = 2.0


def why_unreached(port: IbPort, addresses: Iterable[str]) -> str | None:
    """The first of the addresses that the port has no route to, and why; None if there are routes, or nothing is
    known.
    """
    for address in addresses:
        if "." not in port.address or "." not in address or not port.netdev:
            continue  # a LID, or IPv6, whose link-local addresses are valid on every interface
        number = route_error(port.address, address, port.netdev)
        if number in NO_WAY:
            return (
                f"{port.device}:{port.number} ({port.address}) has no route to {address} through {port.netdev}: "
                f"{os.strerror(number)}: are their GIDs in the same network (NCCL_IB_GID_INDEX, NCCL_IB_ADDR_RANGE)?"
            )
    return None


def route_error(source: str, destination: str, interface: str) -> int:
    """The errno of the kernel's look-up of a route between two addresses through an interface; 0: there is one.

    0 also where the look-up is not possible.
    """
    try:
        asked = _question(source, destination, socket.if_nametoindex(interface))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
            sock.settimeout(WITHIN_S)
            sock.sendto(asked, (0, 0))
            answer = sock.recv(ANSWER_BYTES)
    except OSError:
        return 0
    if HEADER.unpack_from(answer)[1] != NLMSG_ERROR:
        return 0
    (negative,) = struct.unpack_from("=i", answer, HEADER.size)
    return -int(negative)


def _question(source: str, destination: str, interface: int) -> bytes:
    attributes = (
        (RTA_DST, socket.inet_aton(destination)),
        (RTA_SRC, socket.inet_aton(source)),
        (RTA_OIF, struct.pack("=I", interface)),
    )
    body = ROUTE.pack(socket.AF_INET, ADDRESS_BITS, ADDRESS_BITS, 0, 0, 0, 0, 0, RTM_F_FIB_MATCH)
    body += b"".join(struct.pack("=HH", 4 + len(value), kind) + value for kind, value in attributes)
    return HEADER.pack(HEADER.size + len(body), RTM_GETROUTE, NLM_F_REQUEST, 1, 0) + body
