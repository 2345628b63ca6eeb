# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel knows a way from a RoCE port to the ports of other ranks, asked before anything is connected.

A UDP socket with the port's address is routed as the port's packets are, but for the interface, and connecting it sends
nothing. Where another interface has a default route nothing can be said: connecting queue pairs will tell.
"""

import errno
import os
import socket
from collections.abc import Iterable

from railgauge.transports.ib.device import IbPort

ROCE_PORT = 4791  # IBTA annex A17
NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH)


def why_unreached(port: IbPort, addresses: Iterable[str]) -> str | None:
    """The first of the addresses that the port has no way to, and why; None where it has, or nothing is known of it."""
    for address in addresses:
        if "." not in port.address or "." not in address:
            continue  # a LID, or IPv6, whose link-local addresses are of every interface
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.bind((port.address, 0))
                sock.connect((address, ROCE_PORT))
            except OSError as error:
                if error.errno in NO_WAY:
                    return f"{port.device}:{port.number} ({port.address}) has no way to {address}: {_text(error)}"
    return None


def _text(error: OSError) -> str:
    return f"{os.strerror(error.errno or 0)}: are their GIDs of one network (NCCL_IB_ADDR_RANGE chooses among several)?"
