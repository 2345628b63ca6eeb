# SPDX-License-Identifier: Apache-2.0
"""Makes a rank's ends of connections over NET/IB: opens its NICs, and joins queue pairs with those of the other end.

Both ends say what the other one needs (`facts`), which the bootstrap carries. NCCL's rule for the number of queue pairs
is that of `ncclIbConnect`: the larger of what the two ends want, each end's spread over its own ports.
"""

import os
from typing import TypeAlias

from railgauge._native import transports as native
from railgauge.topo.settings.ib_connection import IbConnection, read_ib_connection
from railgauge.transports.ib.device import IbPort
from railgauge.transports.network import Network
from railgauge.transports.select import NET_IB
from railgauge.transports.slots import slots_of
from railgauge.transports.wire import Wire

OFF = -1
IbEnd: TypeAlias = native.IbSender | native.IbReceiver


class IbEnds:
    """One rank's NICs, opened, and what moves their connections."""

    def __init__(self, network: Network, rank: int, doorbell: native.Doorbell, linger_s: float) -> None:
        """`rank` is this one's number in the job; at the end the others are given `linger_s` to take what was sent.

        Raises:
            UnavailableError: a device cannot be opened; it names the device.
        """
        self._network = network
        self._rank = rank
        self._settings = read_ib_connection(os.environ)
        ports = [(device.number, port) for device in network.devices for port in device.ports]
        self._rails = [number for number, _ in ports]
        self.proxy = native.IbProxy(doorbell, [_rail(port, self._settings) for _, port in ports], linger_s)

    def sender(self, wire: Wire) -> native.IbSender:
        """The end of a wire that begins here; it still has to be joined with the other one."""
        assert wire.devices
        return native.IbSender(*self._shape(wire, wire.devices[0], wire.target, wire.devices[1]))

    def receiver(self, wire: Wire) -> native.IbReceiver:
        """The end of a wire that ends here, likewise."""
        assert wire.devices
        return native.IbReceiver(*self._shape(wire, wire.devices[1], wire.source, wire.devices[0]))

    def _shape(
        self, wire: Wire, number: int, peer: int, peers_number: int
    ) -> tuple[native.IbProxy, list[int], int, str, str, int, int, int, bool]:
        """What both kinds of end are made of."""
        own, other = self._network.nic(self._rank, number), self._network.nic(peer, peers_number)
        queue_pairs = max(own.queue_pairs, other.queue_pairs)
        rails = [place for place, nic in enumerate(self._rails) if nic == number]
        slots, split, via = slots_of(os.environ), self._settings.split, f"{NET_IB}/{number}"
        return self.proxy, rails, peer, other.where, via, *slots, queue_pairs, split


def _rail(port: IbPort, settings: IbConnection) -> native.IbRail:
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
    )
