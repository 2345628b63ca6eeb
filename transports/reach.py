# SPDX-License-Identifier: Apache-2.0
"""Reaching the hub from another process: connect, prove the job secret, and name the obstacle when that fails."""

import socket
import time

from railgauge.topo.errors import PeerLostError, RunError, WaitTimeoutError
from railgauge.transports import tcp
from railgauge.transports.addresses import from_here
from railgauge.transports.handshake import HUB, connect_proved
from railgauge.transports.hub_place import HubPlace

REFUSED_FOR_S = 2.0
"""How long a refused connection is retried, in seconds: the hub listens before its address is published."""
CONNECT_SHARE, CONNECT_MOST_S = 0.8, 60.0
"""A connection that is not made in this share of the timeout, or so many seconds, never will be: something drops the
packets. The rest of the timeout is for reporting it to the others."""


def reach(hub: HubPlace, interface: str, secret: bytes, *, timeout_s: float, deadline: float) -> socket.socket:
    """Connect to the hub by `deadline` (time.monotonic()); `interface` is this host's own, for a link-local address.

    A connection that is lost before authentication is retried: unauthenticated connections may have filled the hub's
    limit.

    Each wait on the socket may then take the timeout.

    Raises:
        PeerLostError: nobody answers there; the message says what to look at.
        AuthenticationError: the job secrets differ. WaitTimeoutError: it does not answer in time.
    """
    connect_by = min(deadline, time.monotonic() + min(timeout_s * CONNECT_SHARE, CONNECT_MOST_S))
    address = from_here(hub.address, interface)
    try:
        sock = connect_proved(
            lambda: _connect(hub, address, connect_by), secret, HUB, until=connect_by, deadline=deadline
        )
    except PeerLostError as error:
        raise error if error.rank == 0 else _lost(hub, error) from None
    sock.settimeout(timeout_s)
    return sock


def _connect(hub: HubPlace, address: str, deadline: float) -> socket.socket:
    began = time.monotonic()
    while True:
        try:
            return tcp.connect(tcp.socket_address(address, hub.port), deadline)
        except TimeoutError:
            raise _dropped(hub, time.monotonic() - began) from None
        except OSError as error:
            if time.monotonic() - began > REFUSED_FOR_S or time.monotonic() > deadline:
                raise _refused(hub, error) from None
            time.sleep(0.1)


def _lost(hub: HubPlace, error: RunError) -> RunError:
    return PeerLostError(
        f"cannot join rank 0 at {hub}: {error}: do other programs flood that port (rank 0 logs rejected connections), "
        f"or does another program listen there?",
        0,
    )


def _dropped(hub: HubPlace, seconds: float) -> RunError:
    return WaitTimeoutError(
        f"no answer from rank 0 at {hub} within {seconds:.1f} s: a firewall drops the packets, or there is no route to "
        f"that interface from here: open the port, or choose another interface there (NCCL_SOCKET_IFNAME)"
    )


def _refused(hub: HubPlace, error: OSError) -> RunError:
    reason = error.strerror or str(error)
    return PeerLostError(
        f"cannot connect to rank 0 at {hub}: {reason}: its process has ended, or a firewall rejects the connection, "
        f"or there is no route to that interface from here (NCCL_SOCKET_IFNAME selects another one there)",
        0,
    )
