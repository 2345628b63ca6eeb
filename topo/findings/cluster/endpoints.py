# SPDX-License-Identifier: Apache-2.0
"""The interfaces on which other nodes reach a node for NCCL: those of its sockets, and those of its RoCE ports."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.topo.findings.node.rp_filter_strict import STRICT
from railgauge.topo.machine import Machine

SOCKET, ROCE = "NET/Socket", "NET/IB"
BOOTSTRAP = f"{SOCKET}/0"
"""NCCL's bootstrap and the exchange that sets up RDMA connections use the first socket interface."""
Use = str
"""NCCL's use of an interface, as its log names transports: NET/Socket/1, or NET/IB/3 for a RoCE port's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One interface with its address. strict: its reverse-path filter is strict."""

    interface: str
    address: str
    uses: tuple[Use, ...]
    strict: bool = False


def endpoints(machine: Machine) -> tuple[Endpoint, ...]:
    """Those that other nodes could reach. Without RDMA ports NCCL uses all its interfaces, else the first."""
    uses: dict[str, list[Use]] = {}
    sockets = machine.sockets_under(machine.settings) or ()
    for number, name in enumerate(sockets[: 1 if machine.rdma_ports else None]):
        uses.setdefault(name, []).append(f"{SOCKET}/{number}")
    for number, port in enumerate(machine.rdma_ports):
        if port.rdma_port.link_layer == "Ethernet" and port.rdma_port.netdev:
            uses.setdefault(port.rdma_port.netdev, []).append(f"{ROCE}/{number}")
    addresses = _addresses(machine)
    filters = dict(machine.sources.ip.rp_filter)
    return tuple(
        Endpoint(interface=name, address=addresses[name], uses=tuple(its), strict=filters.get(name) == STRICT)
        for name, its in uses.items()
        if name in addresses
    )


def _addresses(machine: Machine) -> Mapping[str, str]:
    """The address that NCCL takes, by interface: the first, IPv4 before IPv6; link-local ones with their scope."""
    facts = (machine.reader.facts("interfaces") or {}) if machine.reader else {}
    found: dict[str, str] = {}
    for one in facts.get("interfaces", ()):
        if address := next(_reachable(one.get("addresses", ())), None):
            scope = f"%{one['name']}" if address.is_link_local and address.version == 6 else ""
            found[one["name"]] = f"{address}{scope}"
    return found


def _reachable(texts: Iterable[str]) -> "Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]":
    addresses = (ipaddress.ip_address(text.partition("%")[0]) for text in texts)
    return (address for address in addresses if not address.is_loopback)
