# SPDX-License-Identifier: Apache-2.0
"""TCP sockets as all of railgauge's connections make them: one that listens, one that connects, enough descriptors."""

import contextlib
import errno
import resource
import socket
import time
from typing import Any, TypeAlias

from railgauge.transports.addresses import host_and_port

SocketAddress: TypeAlias = tuple[Any, ...]
"""What bind and connect take: (host, port), or for IPv6 (host, port, flow, scope)."""

BACKLOG = 4096
"""Connections that wait to be accepted; the kernel has its own limit too (net.core.somaxconn)."""
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


def socket_address(host: str, port: int) -> SocketAddress:
    """The socket address of an IP address, link-local IPv6 with its scope (`fe80::1%eth0`); OSError when it is
    invalid.
    """
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0][4]


def family_of(address: SocketAddress) -> socket.AddressFamily:
    """IPv4 or IPv6."""
    return socket.AF_INET6 if len(address) == 4 else socket.AF_INET


def listen(host: str, port: int = 0) -> socket.socket:
    """Listen on one IP address of this host only; port 0 is any free one. OSError when that fails."""
    address = socket_address(host, port)
    with contextlib.ExitStack() as undo:
        sock = undo.enter_context(socket.socket(family_of(address), socket.SOCK_STREAM))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
        undo.pop_all()
    return sock


def connect(address: SocketAddress, deadline: float, source: str = "") -> socket.socket:
    """Connect by `deadline` (time.monotonic()), from the IP address `source` of this host if one is given.

    Raises:
        OSError: it cannot. TimeoutError: the deadline has passed. ConnectionRefusedError: also when the socket
            connected to itself, since nobody listened on that port and the kernel chose the same one for this end.
    """
    with contextlib.ExitStack() as undo:
        sock = undo.enter_context(socket.socket(family_of(address), socket.SOCK_STREAM))
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            sock.bind(socket_address(source, 0))
        sock.connect(address)
        if sock.getsockname() == sock.getpeername():
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        undo.pop_all()
    return sock


def peer_name(sock: socket.socket) -> str:
    """The other end's address for messages, as HOST:PORT."""
    try:
        name = sock.getpeername()
    except OSError:
        return "a peer that is gone"
    return host_and_port(*name[:2]) if name else "a local socket"


def allow_many_files() -> bool:
    """Raise the limit of open files to the hard limit (NCCL's `setFilesLimit`); returns whether that is more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return False
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return False
    return True
