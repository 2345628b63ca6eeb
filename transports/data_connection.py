# SPDX-License-Identifier: Apache-2.0
"""A data connection of NET/Socket from the sending side: open it, prove the session's secret, name it.

It has one or several sockets. After the handshake (handshake.py, purpose `DATA`) the connecting rank sends the name of
each:

| channel, 4 bytes | from rank, 4 bytes | to rank, 4 bytes | which socket of the connection, 4 bytes |  in network order

From then on the socket belongs to the native transport. data_listener.py is the other side.
"""

import contextlib
import socket
import struct
from typing import NamedTuple

from railgauge.topo.errors import PeerLostError, WaitTimeoutError
from railgauge.transports import tcp
from railgauge.transports.addresses import from_here, host_and_port
from railgauge.transports.handshake import DATA, connect_proved
from railgauge.transports.interface import Interface

NAME = struct.Struct("!IIII")
KEEPALIVE_PROBES = 3
MOST_SECONDS = 32767  # of tcp(7)'s keepalive times


class Name(NamedTuple):
    """One socket of a data connection: its channel, its two ranks, and its number among the sockets."""

    channel: int
    source: int
    target: int
    socket: int = 0


def sockets_of(name: Name, count: int) -> list[Name]:
    """The names of a connection's sockets, in their order."""
    return [name._replace(socket=number) for number in range(count)]


def connect(
    names: list[Name],
    address: tuple[str, int],
    interface: Interface,
    secret: bytes,
    *,
    deadline: float,
    timeout_s: float,
) -> list[socket.socket]:
    """Open a connection's sockets from `interface` to where its receiver listens; `deadline` is in time.monotonic().

    Raises:
        PeerLostError: the receiver cannot be reached, or does not answer.
        AuthenticationError: another program answers there.
    """
    with contextlib.ExitStack() as undo:
        opened = [undo.enter_context(_connect(name, address, interface, secret, deadline, timeout_s)) for name in names]
        undo.pop_all()
    return opened


def _connect(
    name: Name, address: tuple[str, int], interface: Interface, secret: bytes, deadline: float, timeout_s: float
) -> socket.socket:
    where = f"rank {name.target} at {host_and_port(*address)}"
    try:
        target = tcp.socket_address(from_here(address[0], interface.name), address[1])
        source = interface.address if interface.family == tcp.family_of(target) else ""
        sock = connect_proved(
            lambda: tcp.connect(target, deadline, source), secret, DATA, until=deadline, deadline=deadline
        )
    except (PeerLostError, WaitTimeoutError) as error:
        raise PeerLostError(f"{where} did not take the data connection: {error}", name.target) from None
    except OSError as error:
        raise PeerLostError(
            f"cannot connect from {interface.name} ({interface.address}) to {where}: {error.strerror or error}: "
            f"a firewall in between, or the wrong interfaces (NCCL_SOCKET_IFNAME)?",
            name.target,
        ) from None
    try:
        sock.sendall(NAME.pack(*name))
        set_options(sock, timeout_s)
    except OSError as error:
        sock.close()
        raise PeerLostError(f"{where} did not take the data connection: {error}", name.target) from None
    except BaseException:
        sock.close()
        raise
    return sock


def set_options(sock: socket.socket, timeout_s: float) -> None:
    """Send without delay; give up on a peer that acknowledges nothing, or does not answer probes, for the timeout
    (tcp(7)).
    """
    probe_s = min(max(1, int(timeout_s / (KEEPALIVE_PROBES + 1))), MOST_SECONDS)
    for option, value in (
        (socket.TCP_NODELAY, 1),
        (socket.TCP_USER_TIMEOUT, int(min(timeout_s * 1000, 2**31 - 1))),
        (socket.TCP_KEEPIDLE, probe_s),
        (socket.TCP_KEEPINTVL, probe_s),
        (socket.TCP_KEEPCNT, KEEPALIVE_PROBES),
    ):
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
