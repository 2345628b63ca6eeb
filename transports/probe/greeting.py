# SPDX-License-Identifier: Apache-2.0
"""What two nodes send each other on a tested connection, once they have proved the secret (handshake.py).

    server -> client   length of its name (2 bytes, network order), its name
    client -> server   64 KiB, which need many packets at any MTU
    server -> client   b"."

This shows that the path passes short packets in both directions, and long ones from the client; the other node tests
the other direction.
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
"""The kernel needs 3 s to find that no host has an address (mcast_solicit probes of 1 s, arp(7)); a lost SYN is resent
twice until then."""
GREETING_S = 3.0
DATA_S = 4.0
"""Long packets that are lost are resent after 0.2, 0.4, 0.8 and 1.6 s."""
ATTEMPT_S = CONNECT_S + GREETING_S + DATA_S


def receive(sock: socket.socket, size: int, deadline: float) -> bytes:
    """Receive this many bytes by `deadline` (time.monotonic()). OSError: the connection ended; TimeoutError: too
    late.
    """
    data = b""
    while len(data) < size:
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        if not (piece := sock.recv(min(size - len(data), len(DATA)))):
            raise ConnectionResetError("it closed the connection")
        data += piece
    return data
