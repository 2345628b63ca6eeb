# SPDX-License-Identifier: Apache-2.0
"""The transports between ranks that are measured: shared memory where possible, sockets and RDMA devices by rail.

This is the one place that lists them.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.sysfs_net import read_nic
from railgauge.transports.addresses import local_addresses
from railgauge.transports.ib.device import IbDevice
from railgauge.transports.interface import usable_interfaces
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB, NET_SOCKET, SHM, sharing_memory
from railgauge.transports.wire import Nets

TRANSPORTS = (SHM, NET_SOCKET, NET_IB)


@dataclass(frozen=True, slots=True)
class Port:
    """An interface that a rank's sockets can use, or a NIC of NET/IB; `gb_per_s` is None if the system reports no
    speed.
    """

    name: str
    network: str
    gb_per_s: float | None
    device: int = 0
    """Its number in the transport."""
    transport: str = NET_SOCKET


def own_ports(network: Network, environ: Mapping[str, str] = os.environ) -> list[Port]:
    """This rank's interfaces in the order of their device numbers, empty if none can be used; then its NICs of the
    job's network.
    """
    try:
        usable = usable_interfaces(environ)
    except UnavailableError:
        usable = []
    addresses = local_addresses()
    networks = {(one.interface, one.text): str(one.network) for one in addresses}
    interfaces = [
        Port(one.name, networks.get((one.name, one.address), ""), _gb_per_s(one.name), device)
        for device, one in enumerate(usable)
    ]
    of_address = {one.text: str(one.network) for one in addresses}
    return interfaces + [_nic(one, of_address.get(one.ports[0].address, "")) for one in network.devices]


def _nic(nic: IbDevice, network: str) -> Port:
    rates = [port.gb_per_s for port in nic.ports if port.gb_per_s]
    return Port(nic.name, network, sum(rates) or None, nic.number, NET_IB)


def _gb_per_s(interface: str) -> float | None:
    speed_mbps = read_nic(LiveReader(), interface).speed_mbps
    return speed_mbps / 8000 if speed_mbps else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One transport between ranks, and over a network the rail: by rank, which of its devices (None: it has none)."""

    transport: str
    rail: int = 0
    devices: tuple[int | None, ...] = ()
    hosts: tuple[int, ...]
    """By rank: over SHM a number for those that share memory, over a network one for those on one host."""

    def joins(self, a: int, b: int) -> bool:
        """Whether the pair is measured over it. Sockets within a host use no wire, so one rail is enough there."""
        together = self.hosts[a] == self.hosts[b]
        if self.transport == SHM:
            return together
        again = together and self.rail and self.transport == NET_SOCKET
        return self.devices[a] is not None and self.devices[b] is not None and not again

    def crosses(self, a: int, b: int) -> bool:
        """Whether it leaves the host."""
        return self.hosts[a] != self.hosts[b]

    def step(self, source: int, target: int) -> Nets:
        """The route of a connection, as in plans."""
        if self.transport == SHM:
            return None
        return [self.devices[source] or 0, self.devices[target] or 0]


def ways(
    peers: Sequence[Peer], ports: Sequence[Sequence[Port]], only: str | None, why_not_ib: str | None = None
) -> list[Way]:
    """All ways that connect at least two of the ranks, or those of one transport; all ranks get the same.

    Raises:
        UsageError: there is no such transport. UnavailableError: none connects any ranks.
    """
    if only is not None and only not in TRANSPORTS:
        raise UsageError(f"--transport {only}: unknown; transports are {', '.join(TRANSPORTS)}")
    sharing = {rank: number for number, ranks in enumerate(sharing_memory(peers)) for rank in ranks}
    ids = [peer.host_id for peer in peers]
    hosts = tuple(ids.index(each) for each in ids)
    found = [Way(transport=SHM, hosts=tuple(sharing[rank] for rank in range(len(peers))))]
    found += [
        Way(transport=transport, rail=number, devices=devices, hosts=hosts)
        for transport in (NET_SOCKET, NET_IB)
        for number, devices in enumerate(rails([[p for p in each if p.transport == transport] for each in ports]))
    ]
    joining = [way for way in found if only in (None, way.transport) and _joins_any(way, len(peers))]
    if not joining:
        what = only or "transport"
        why = why_not_ib if only == NET_IB and why_not_ib else "`railgauge run --list` shows why"
        raise UnavailableError(f"{what} connects none of these {len(peers)} ranks: {why}")
    return joining


def rails(ports: Sequence[Sequence[Port]]) -> list[tuple[int | None, ...]]:
    """For each device of rank 0 every rank's device on the same rail: in the same network, else at the same
    position.
    """
    found = []
    for number, port in enumerate(ports[0]):
        same = [[one.device for one in each if one.network == port.network] for each in ports]
        found.append(
            tuple(
                devices[0] if devices and port.network else each[number].device if number < len(each) else None
                for devices, each in zip(same, ports, strict=True)
            )
        )
    return found


def _joins_any(way: Way, ranks: int) -> bool:
    return any(way.joins(a, b) for a in range(ranks) for b in range(a + 1, ranks))
