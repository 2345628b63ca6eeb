# SPDX-License-Identifier: Apache-2.0
"""The network interfaces that a run's sockets use, chosen as NCCL chooses them, and the reason for each.

NCCL's functions: `ncclFindInterfaces`, `ncclOsFindInterfaces`, `ncclFindInterfaceMatchSubnet`, `ncclEnvSocketFamily`,
`ncclSocketGetAddrFromString`, `bootstrapNetInit` (src/misc/socket.cc, src/os/linux.cc, src/bootstrap.cc of 2.30). The
libraries of 2.28 to 2.32 choose the same in tests/nccl, but for two: 2.29.2 to 2.29.7 take the first IPv4 address that
is not in the subnet of NCCL_COMM_ID's host, and all take NCCL_COMM_ID without a valid port, which is refused here.
"""

import ipaddress
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.nccl.settings.interfaces import DEFAULTS, MAX_INTERFACES, choose
from railgauge.transports.addresses import Address, local_addresses

REASONS = {
    "ib": "the first interface named ib*",
    "^docker,lo,virbr": "the first interface not named docker*, lo* or virbr*",
    "docker": "only docker*, lo* and virbr* interfaces exist",
    "lo": "only lo* and virbr* interfaces exist",
    "virbr": "only virbr* interfaces exist",
}
"""NCCL's order of names (`DEFAULTS`) in words."""
FAMILIES = {"AF_INET": socket.AF_INET, "AF_INET6": socket.AF_INET6}
"""NCCL_SOCKET_FAMILY; NCCL ignores other values."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface and the address that is used of it; link-local IPv6 has its scope (`fe80::1%eth0`)."""

    name: str
    address: str
    family: socket.AddressFamily
    reason: str
    """Why it was chosen, for messages."""

    def __str__(self) -> str:
        """As NCCL's log has it: `eth0:10.0.0.1<0>`."""
        return f"{self.name}:{self.address}<0>"


def usable_interfaces(environ: Mapping[str, str]) -> list[Interface]:
    """The interfaces of NET/Socket in NCCL's order: its device number is the place in this list.

    Raises:
        UnavailableError: no interface can be used; the message lists those that exist.
        UsageError: NCCL_COMM_ID is not an address.
    """
    addresses = local_addresses()
    meant = _of_family(addresses, environ)
    usable = [address for address in meant if not address.obstacle]
    # NCCL ignores a value of one character.
    if len(setting := environ.get("NCCL_SOCKET_IFNAME", "")) > 1:
        said = f"NCCL_SOCKET_IFNAME='{setting}'" if setting.startswith("=") else f"NCCL_SOCKET_IFNAME={setting}"
        found = _named(usable, choose([a.interface for a in usable], setting), said)
        problem = f"{said} matches no interface"
    elif setting := environ.get("GLOO_SOCKET_IFNAME", ""):
        found, problem = _of_gloo(usable, setting)
    else:
        found, problem = _by_default(usable, meant, environ), "no interface is up and has an address"
    if not found:
        raise _nothing_usable(addresses, environ, problem)
    return found


def bootstrap_interface(environ: Mapping[str, str]) -> Interface:
    """The interface of the bootstrap: the one in the subnet of NCCL_COMM_ID's host, else the first usable one.

    Errors are those of `usable_interfaces`.
    """
    if not (setting := environ.get("NCCL_COMM_ID")):
        return usable_interfaces(environ)[0]
    addresses = local_addresses()
    if not (found := _in_subnet(addresses, setting)):
        raise _nothing_usable(addresses, {}, f"NCCL_COMM_ID={setting}: no interface is in that subnet")
    return found[0]


def comm_id_port(environ: Mapping[str, str]) -> int:
    """The port in NCCL_COMM_ID, on which the hub listens; 0 (any) without it."""
    setting = environ.get("NCCL_COMM_ID")
    return parse_address(setting)[1] if setting else 0


def parse_address(text: str) -> tuple[str, int]:
    """Take HOST:PORT or [IPV6]:PORT apart.

    Raises:
        UsageError: it is in neither form.
    """
    host, colon, port = text.rpartition(":")
    plain = host.removeprefix("[").removesuffix("]")
    bracketed = len(host) - len(plain) == 2
    if not colon or not plain or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"NCCL_COMM_ID={text}: expected HOST:PORT or [IPV6]:PORT")
    if ":" in plain and not bracketed:
        raise UsageError(f"NCCL_COMM_ID={text}: an IPv6 address needs brackets, as in [fd00::1]:5000")
    return plain, int(port)


def _of_family(addresses: Iterable[Address], environ: Mapping[str, str]) -> list[Address]:
    """The addresses that NCCL considers: of the requested family, and not ::1."""
    family = FAMILIES.get(environ.get("NCCL_SOCKET_FAMILY", ""))
    return [a for a in addresses if family in (None, a.family) and not a.is_ipv6_loopback]


def _named(usable: list[Address], names: Iterable[str], reason: str) -> list[Interface]:
    """An interface for each name, with the first of its addresses."""
    first = {a.interface: a for a in reversed(usable)}
    return [_interface(first[name], reason) for name in names]


def _interface(address: Address, reason: str) -> Interface:
    return Interface(address.interface, address.text, address.family, reason)


def _of_gloo(usable: list[Address], setting: str) -> tuple[list[Interface], str]:
    """GLOO_SOCKET_IFNAME: exact names in the order in which they are to be used, as PyTorch reads it."""
    names = list(dict.fromkeys(name.strip() for name in setting.split(",") if name.strip()))
    if missing := set(names) - {a.interface for a in usable}:
        return [], f"GLOO_SOCKET_IFNAME={setting}: no interface {', '.join(sorted(missing))}"
    reason = f"GLOO_SOCKET_IFNAME={setting} (NCCL_SOCKET_IFNAME is not set)"
    return _named(usable, names[:MAX_INTERFACES], reason), f"GLOO_SOCKET_IFNAME={setting} names no interface"


def _by_default(usable: list[Address], meant: list[Address], environ: Mapping[str, str]) -> list[Interface]:
    names = [a.interface for a in usable]
    rule = next((rule for rule in DEFAULTS if choose(names, rule)), None)
    if rule is None:
        return []
    # NCCL_COMM_ID takes precedence over everything but ib*.
    if rule != "ib" and (setting := environ.get("NCCL_COMM_ID")) and (found := _in_subnet(usable, setting)):
        return found
    reason = f"{REASONS[rule]} (NCCL_SOCKET_IFNAME is not set)"
    first = choose([a.interface for a in meant], None)
    if passed_over := {a.interface: a.obstacle for a in meant if a.obstacle and a.interface in first}:
        reason += f"; skipped: {', '.join(f'{name} ({obstacle})' for name, obstacle in passed_over.items())}"
    return _named(usable, choose(names, rule), reason)


def _in_subnet(addresses: Iterable[Address], setting: str) -> list[Interface]:
    """The first address whose subnet contains NCCL_COMM_ID's host, if there is one."""
    host, _, scope = parse_address(setting)[0].partition("%")
    try:
        target = ipaddress.ip_address(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise UsageError(f"NCCL_COMM_ID={setting}: cannot resolve {host}: {error.strerror}") from None
    for address in addresses:
        # Link-local networks differ in their scope only.
        if target in address.network and (not scope or scope == address.interface):
            return [_interface(address, f"in the subnet of NCCL_COMM_ID={setting}")]
    return []


def _nothing_usable(addresses: Iterable[Address], environ: Mapping[str, str], problem: str) -> UnavailableError:
    family = environ.get("NCCL_SOCKET_FAMILY", "")
    limit = f" with NCCL_SOCKET_FAMILY={family}" if family in FAMILIES else ""
    there = ", ".join(f"{a.interface} ({a.text}{a.obstacle and f', {a.obstacle}'})" for a in addresses) or "none"
    return UnavailableError(f"no network interface to use: {problem}{limit}; interfaces: {there}")
