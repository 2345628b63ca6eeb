# SPDX-License-Identifier: Apache-2.0
"""Makes a rank's ends of connections over NET/IB: opens its NICs, and joins queue pairs with those of the other end.

Each end sends what the other one needs (`facts`) through the bootstrap. They use as many queue pairs on each port as
the end that wants more (`ncclIbConnect`); of a NIC with more ports than the other end's, the first ones are used.
"""

import os
from collections.abc import Iterable
from typing import TypeAlias

from railgauge._native import transports as native
from railgauge.topo.nccl.settings.ib_connection import IbConnection, read_ib_connection
from railgauge.transports.ib.device import IbPort
from railgauge.transports.network import Network
from railgauge.transports.select import NET_IB
from railgauge.transports.slots import slots_of
from railgauge.transports.wire import Wire

OFF = -1
IbEnd: TypeAlias = native.IbSender | native.IbReceiver


class IbEnds:
    """One rank's NICs, opened on first use, and what moves their connections."""

    def __init__(self, network: Network, rank: int, doorbell: native.Doorbell, linger_s: float) -> None:
        """`rank` is this one's number in the job; at the end the others have `linger_s` to receive what was sent."""
        self._network = network
        self._rank = rank
        self._settings = read_ib_connection(os.environ)
        self._rails: dict[int, list[native.IbRail]] = {}
        self.proxy = native.IbProxy(doorbell, linger_s)

    def sender(self, wire: Wire) -> native.IbSender:
        """The end of a wire that begins here; it still has to be joined with the other one."""
        assert wire.devices
        return native.IbSender(*self._shape(wire.devices[0], wire.target, wire.devices[1]))

    def receiver(self, wire: Wire) -> native.IbReceiver:
        """The end of a wire that ends here, likewise."""
        assert wire.devices
        return native.IbReceiver(*self._shape(wire.devices[1], wire.source, wire.devices[0]))

    def flush(self, numbers: Iterable[int], address: int, size: int, timeout_s: float) -> native.GdrFlush:
        """What makes data visible to a GPU after NICs of those numbers wrote it into the GPU's registered memory."""
        rails = [rail for number in numbers for rail in self._opened(number)]
        return native.GdrFlush(self.proxy, rails, address, size, timeout_s)

    def _shape(
        self, number: int, peer: int, peers_number: int
    ) -> tuple[native.IbProxy, list[native.IbRail], int, str, str, int, int, int, bool]:
        """The parts that both kinds of end need.

        Raises:
            UnavailableError: a device cannot be opened; it names the device.
        """
        own, other = self._network.nic(self._rank, number), self._network.nic(peer, peers_number)
        rails = self._opened(number)[: min(own.ports, other.ports)]
        queue_pairs = max(own.queue_pairs, other.queue_pairs)
        slots, split, via = slots_of(os.environ), self._settings.split, f"{NET_IB}/{number}"
        return self.proxy, rails, peer, other.where, via, *slots, queue_pairs, split

    def _opened(self, number: int) -> list[native.IbRail]:
        """The ports of a NIC."""
        if number not in self._rails:
            device = next(one for one in self._network.devices if one.number == number)
            self._rails[number] = [open_rail(port, self._settings) for port in device.ports]
        return self._rails[number]


def open_rail(port: IbPort, settings: IbConnection) -> native.IbRail:
    """A port, opened with NCCL's settings; UnavailableError where that fails."""
    adaptive = settings.routes_adaptively(port.link_layer)
    return native.IbRail(
        port.device,
        port.number,
        port.gid_index,
        traffic_class=settings.traffic_class,
        service_level=settings.service_level,
        timeout=settings.timeout,
        retry_count=settings.retry_count,
        pkey_index=settings.pkey_index,
        relaxed_ordering=settings.relaxed_ordering,
        adaptive_threshold=settings.adaptive_from if adaptive else OFF,
        modify_retries_all=settings.modify_retries_all,
        modify_retries=settings.modify_retries,
        modify_pause_ms=settings.modify_pause_ms,
    )
