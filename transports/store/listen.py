# SPDX-License-Identifier: Apache-2.0
"""The sockets that a store's server listens on: the addresses of its host name only."""

import errno
import ipaddress
import logging
import os
import socket
from collections.abc import Iterable

from railgauge.topo.errors import Error, UsageError
from railgauge.transports import tcp
from railgauge.transports.addresses import check_scope, local_addresses, with_scope
from railgauge.transports.interface import bootstrap_interface

LOOPBACK_NAMES = ("localhost", "ip6-localhost", "ip6-loopback")


class PortInUseError(UsageError):
    """Somebody listens there already."""


logger = logging.getLogger("railgauge.store")


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of this host that `host` resolves to; port 0 is any free one, the same on all.

    For a name that resolves to a loopback address (Debian writes `127.0.1.1 NAME` into /etc/hosts) it listens on the
    bootstrap's interface too, since the others resolve the name to another address.

    Raises:
        UsageError: the name is unknown, none of its addresses is this host's, one lacks its interface, or the port
            is in use.
    """
    if not 0 <= port < 65536:
        raise UsageError(f"{host} port {port}: a port is between 1 and 65535, or 0 for any free one")
    check_scope(host)
    addresses = _addresses(host, port)
    if host.lower() not in LOOPBACK_NAMES and not _is_address(host) and all(map(is_loopback, addresses)):
        addresses += _beyond_loopback(host)
    listeners: list[socket.socket] = []
    try:
        for address in dict.fromkeys(addresses):
            if sock := _bind(host, address, listeners[0].getsockname()[1] if listeners else port):
                listeners.append(sock)
    except BaseException:
        close_all(listeners)
        raise
    if not listeners:
        raise UsageError(_not_here(host, addresses))
    return listeners


def adopt(descriptor: int) -> socket.socket:
    """Take over a listening socket that the launcher made.

    Raises:
        UsageError: it is not a listening socket.
    """
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError as error:
        raise UsageError(f"file descriptor {descriptor} is not a socket: {error.strerror}") from None
    if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        sock.detach()
        raise UsageError(f"file descriptor {descriptor} is a socket that does not listen")
    return sock


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Close them."""
    for sock in sockets:
        sock.close()


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{socket.gethostname()} cannot resolve {host}: {reason}") from None
    return [with_scope(info[4]) for info in found]


def _beyond_loopback(host: str) -> list[str]:
    try:
        interface = bootstrap_interface(os.environ)
    except Error:
        return []
    if not is_loopback(interface.address):
        logger.warning("railgauge: %s is a loopback address here: the store listens on %s too", host, interface)
    return [interface.address]


def _bind(host: str, address: str, port: int) -> socket.socket | None:
    """A listening socket; None if the address is not this host's."""
    try:
        return tcp.listen(address, port)
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # the latter: no IPv6 here
            return None
        kind = PortInUseError if error.errno == errno.EADDRINUSE else UsageError
        raise kind(_refusal(host, address, port, error)) from None


def _refusal(host: str, address: str, port: int, error: OSError) -> str:
    where = host if host == address else f"{host} ({address})"
    if error.errno == errno.EADDRINUSE:
        return (
            f"{where} port {port} is in use by another run or program, or two processes of this run have rank 0; "
            f"end what listens there, or use another port"
        )
    return f"cannot listen on {where} port {port}: {error.strerror}"


def _not_here(host: str, addresses: list[str]) -> str:
    found = "" if addresses == [host] else f" ({', '.join(dict.fromkeys(addresses))})"
    there = ", ".join(
        f"{a.interface} {a.text}" for a in local_addresses() if not ipaddress.ip_address(a.text).is_link_local
    )
    return f"{host}{found} is not an address of rank 0's host ({socket.gethostname()}); its addresses: {there}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Whether only this host reaches the address (loopback)."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
