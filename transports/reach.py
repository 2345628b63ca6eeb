# SPDX-License-Identifier: Apache-2.0
"""Reaching the hub from another process: connect, prove the job secret, and say what is in between when that fails."""

import contextlib
import hmac
import ipaddress
import socket
import time
from dataclasses import asdict, dataclass, field

from railgauge.topo.errors import PeerLostError, RunError, WaitTimeoutError
from railgauge.transports.handshake import HUB, authenticate

REFUSED_FOR_S = 2.0
"""So long a refusal may pass: the hub listens before its address is told."""
CONNECT_SHARE, CONNECT_MOST_S = 0.8, 60.0
"""A connection that is not made in this share of the timeout, or so many seconds, is not made at all: something drops
the packets. The rest of the timeout is for telling the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubPlace:
    """Where the hub listens, as process 0 tells it through the store."""

    address: str
    port: int
    interface: str
    host: str
    network: str
    """What its loopback addresses are limited to (`peer.network_id`)."""
    key: str = field(repr=False)
    """Random: with the job secret it makes the hub's, so that whoever joins has been told through the store."""

    def secret(self, job_secret: bytes) -> bytes:
        """What both ends of a connection to the hub prove to know."""
        return hmac.digest(job_secret, b"hub" + self.key.encode(), "sha256")

    @property
    def is_loopback(self) -> bool:
        """Whether only its own host, or network namespace, reaches it."""
        return ipaddress.ip_address(self.address).is_loopback

    def to_dict(self) -> dict[str, object]:
        """For the store."""
        return asdict(self)

    def __str__(self) -> str:
        """For messages: `10.0.0.1:4711 (eth0 of gpu-01)`."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{address}:{self.port} ({self.interface} of {self.host})"


SHAPE = {"address": str, "port": int, "interface": str, "host": str, "network": str, "key": str}


def reach(hub: HubPlace, interface: str, secret: bytes, *, timeout_s: float, deadline: float) -> socket.socket:
    """Connect to the hub by `deadline` (time.monotonic()); `interface` is this host's own, for a link-local address.

    Raises:
        PeerLostError: nobody answers there; the message says what to look at.
        AuthenticationError: the job secrets differ. WaitTimeoutError: it does not answer in time.
    """
    connect_by = min(deadline, time.monotonic() + min(timeout_s * CONNECT_SHARE, CONNECT_MOST_S))
    sock = _connect(hub, _scoped(hub.address, interface), connect_by)
    with contextlib.ExitStack() as undo:
        undo.callback(sock.close)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        authenticate(sock, secret, HUB, deadline=deadline)
        undo.pop_all()
    return sock


def _scoped(address: str, interface: str) -> str:
    """A link-local address is reached through an interface of this host, not the one of the host it is on."""
    plain = address.partition("%")[0]
    return f"{plain}%{interface}" if ":" in plain and ipaddress.IPv6Address(plain).is_link_local else plain


def _connect(hub: HubPlace, address: str, deadline: float) -> socket.socket:
    began = time.monotonic()
    while True:
        try:
            sock = socket.create_connection((address, hub.port), timeout=max(0.01, deadline - time.monotonic()))
        except TimeoutError:
            raise _dropped(hub, time.monotonic() - began) from None
        except OSError as error:
            if time.monotonic() - began > REFUSED_FOR_S or time.monotonic() > deadline:
                raise _refused(hub, error) from None
            time.sleep(0.1)
            continue
        if sock.getsockname() != sock.getpeername():
            return sock
        sock.close()  # met itself: nobody listens, and this port was the one that the kernel chose


def _dropped(hub: HubPlace, seconds: float) -> RunError:
    return WaitTimeoutError(
        f"no answer from rank 0 at {hub} within {seconds:.1f} s: a firewall drops the packets, or there is no way to "
        f"that interface from here: open the port, or choose another interface there (NCCL_SOCKET_IFNAME)"
    )


def _refused(hub: HubPlace, error: OSError) -> RunError:
    reason = error.strerror or str(error)
    return PeerLostError(
        f"cannot connect to rank 0 at {hub}: {reason}: its process has ended, or a firewall rejects the connection, "
        f"or there is no way to that interface from here (NCCL_SOCKET_IFNAME chooses another one there)",
        0,
    )
