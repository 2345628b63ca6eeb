# SPDX-License-Identifier: Apache-2.0
"""What two nodes say to each other on a connection that is tried, once they have proved the secret (handshake.py).

    server -> client   length of its name (2 bytes, network order), its name
    client -> server   64 KiB, which take many packets of any MTU
    server -> client   b"."

So a way is open in both directions for short packets, and for long ones from the client; the other node tries the other
direction.
"""

import socket
import struct
import time

LENGTH = struct.Struct("!H")
DATA = bytes(64 << 10)
TAKEN = b"."
PROBE = b"probe"
"""The purpose of the proof."""
CONNECT_S = 4.0
"""The kernel takes 3 s to find that nobody has an address (mcast_solicit probes of 1 s, arp(7)); a SYN that was lost is
sent twice again until then."""
GREETING_S = 3.0
DATA_S = 4.0
"""Long packets that vanish are sent again after 0.2, 0.4, 0.8 and 1.6 s."""
ATTEMPT_S = CONNECT_S + GREETING_S + DATA_S


def receive(sock: socket.socket, size: int, deadline: float) -> bytes:
    """So many bytes by `deadline` (time.monotonic()). OSError: the connection ended; TimeoutError: too late."""
    data = b""
    while len(data) < size:
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        if not (piece := sock.recv(min(size - len(data), len(DATA)))):
            raise ConnectionResetError("it closed the connection")
        data += piece
    return data
