# SPDX-License-Identifier: Apache-2.0
"""Connects the channels of a plan: every rank opens a FIFO to the next rank of each ring, and takes one from the
previous, over shared memory or a socket, as the plan says. The receiver offers it, the bootstrap carries the offer.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from railgauge._native import transports as native
from railgauge.topo.errors import PeerLostError, UnavailableError, UsageError
from railgauge.transports.addresses import host_and_port
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.data_connection import Name, connect, sockets_of
from railgauge.transports.data_listener import DataListener
from railgauge.transports.fault import Fault
from railgauge.transports.interface import Interface, usable_interfaces
from railgauge.transports.select import NET_SOCKET
from railgauge.transports.socket_threads import socket_threads
from railgauge.transports.tcp import peer_name

SLOTS = 4
SLOT_BYTES = 256 << 10
"""Few large slots: measured 1.1 to 1.2 times faster from 1 MiB on than 8 of 64 KiB (benchmarks/README.md)."""
REACH_SHARE = 0.5
"""A rank gives up connecting after this share of the timeout: it knows why, those that wait for it do not."""

Nets: TypeAlias = list[int] | None
"""How a step goes: by the socket devices [out, in] of its two ends; None through shared memory."""
Offer: TypeAlias = str | list[str | int] | None
"""What a receiver tells its sender: a segment's descriptor, or [address, port, sockets]; None in a ring of one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RingEnds:
    """One rank's two connections on one ring; both None in a ring of one."""

    channel: int
    position: int
    ranks: int
    next: native.Sender | None
    previous: native.Receiver | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stop:
    """This rank on one ring: its neighbours, and how the steps from and to them go."""

    channel: int
    position: int
    ranks: int
    previous: int
    next: int
    arrives: Nets
    leaves: Nets


class Connector:
    """Makes one rank's connections; what they need lives in here: its doorbell, its sockets' proxy."""

    def __init__(self, bootstrap: Bootstrap, doorbell: native.Doorbell, fault: Fault | None) -> None:
        self._bootstrap = bootstrap
        self._doorbell = doorbell
        self._fault = fault
        self._doorbells = {bootstrap.rank: doorbell}
        self._descriptors: list[str] = []
        self._interfaces: list[Interface] = []
        self._listener = DataListener(bootstrap.session, bootstrap.timeout_s)
        self.proxy: native.SocketProxy | None = None

    def connect(self, rings: list[list[int]], nets: list[list[Nets]]) -> list[RingEnds]:
        """Connect this rank on every ring (ranks in ring order), each step as `nets` says. All ranks do it together.

        Raises:
            UnavailableError: a network interface that the plan names is not here.
            PeerLostError: a neighbour cannot be reached, or its memory not be opened.
        """
        stops = [
            _stop(number, *pair, self._bootstrap.rank) for number, pair in enumerate(zip(rings, nets, strict=True))
        ]
        try:
            return self._connect(stops)
        finally:
            self._listener.close()

    def _connect(self, stops: list[_Stop]) -> list[RingEnds]:
        bootstrap = self._bootstrap
        self._descriptors = bootstrap.all_gather(self._doorbell.descriptor)
        segments = {s.channel: self._shm_receiver(s) for s in stops if s.ranks > 1 and s.arrives is None}
        offers = bootstrap.all_gather([self._offer(stop, segments) for stop in stops])
        expected = {name for s in stops if s.arrives for name in self._incoming(s.channel, s.previous, s.arrives[1])}
        deadline = time.monotonic() + bootstrap.timeout_s
        with self._listener.accepting(expected, deadline, lambda: bootstrap.failure is not None):
            senders = [self._sender(stop, offers[stop.next][stop.channel]) for stop in stops]
        return [
            RingEnds(
                channel=stop.channel,
                position=stop.position,
                ranks=stop.ranks,
                next=sender,
                previous=self._net_receiver(stop) if stop.arrives else segments.get(stop.channel),
            )
            for stop, sender in zip(stops, senders, strict=True)
        ]

    def _offer(self, stop: _Stop, segments: dict[int, native.ShmReceiver]) -> Offer:
        if stop.arrives:
            interface = self._interface(stop.arrives[1])
            return [*self._listener.address(interface), socket_threads(interface.name, os.environ).sockets]
        return segments[stop.channel].descriptor if stop.channel in segments else None

    def _shm_receiver(self, stop: _Stop) -> native.ShmReceiver:
        return native.ShmReceiver(stop.previous, self._doorbell_of(stop.previous), SLOTS, SLOT_BYTES)

    def _net_receiver(self, stop: _Stop) -> native.SocketReceiver:
        assert stop.arrives
        return self._socket_receiver(stop.channel, stop.previous, stop.arrives[1])

    def _incoming(self, channel: int, source: int, device: int) -> list[Name]:
        """The sockets of a connection that comes in by `device`."""
        count = socket_threads(self._interface(device).name, os.environ).sockets
        return sockets_of(Name(channel, source, self._bootstrap.rank), count)

    def _socket_receiver(self, channel: int, source: int, device: int) -> native.SocketReceiver:
        socks = self._listener.taken(self._incoming(channel, source, device))
        threads = socket_threads(self._interface(device).name, os.environ).threads
        address, via = peer_name(socks[0]), f"{NET_SOCKET}/{device}"
        fds = [sock.detach() for sock in socks]
        return native.SocketReceiver(self._proxy(), fds, threads, source, address, via, SLOTS, SLOT_BYTES)

    def _socket_sender(self, channel: int, target: int, device: int, offer: list[str | int]) -> native.SocketSender:
        """`offer` is [address, port, sockets]: the receiver says how many sockets there are."""
        host, port, count = str(offer[0]), int(offer[1]), int(offer[2])
        interface, timeout_s = self._interface(device), self._bootstrap.timeout_s
        socks = connect(
            sockets_of(Name(channel, self._bootstrap.rank, target), count),
            (host, port),
            interface,
            self._bootstrap.session,
            deadline=time.monotonic() + timeout_s * REACH_SHARE,
            timeout_s=timeout_s,
        )
        threads = socket_threads(interface.name, os.environ).with_sockets(count).threads
        address, via = host_and_port(host, port), f"{NET_SOCKET}/{device}"
        fds = [sock.detach() for sock in socks]
        return native.SocketSender(self._proxy(), fds, threads, target, address, via, SLOTS, SLOT_BYTES)

    def _sender(self, stop: _Stop, offer: Offer) -> native.Sender | None:
        if stop.ranks == 1:
            return None
        sender = self._net_sender(stop, offer) if stop.leaves else self._shm_sender(stop, offer)
        fault = self._fault
        if fault and (fault.rank, fault.channel) == (self._bootstrap.rank, stop.channel):
            return native.FaultySender(sender, fault.kind, fault.message, fault.seconds)
        return sender

    def _shm_sender(self, stop: _Stop, offer: Offer) -> native.Sender:
        if not isinstance(offer, str):
            raise UsageError(f"rank {stop.next} offers no shared memory on channel {stop.channel}: another plan?")
        doorbell = self._doorbell_of(stop.next)
        return opened(stop.next, lambda: native.ShmSender(stop.next, doorbell, offer))

    def _net_sender(self, stop: _Stop, offer: Offer) -> native.Sender:
        if not isinstance(offer, list) or not stop.leaves:
            raise UsageError(f"rank {stop.next} offers no address on channel {stop.channel}: another plan?")
        return self._socket_sender(stop.channel, stop.next, stop.leaves[0], offer)

    def _doorbell_of(self, rank: int) -> native.Doorbell:
        if rank not in self._doorbells:
            self._doorbells[rank] = opened(rank, lambda: native.Doorbell.open(self._descriptors[rank]))
        return self._doorbells[rank]

    def _interface(self, device: int) -> Interface:
        self._interfaces = self._interfaces or usable_interfaces(os.environ)
        if device >= len(self._interfaces):
            names = ", ".join(one.name for one in self._interfaces)
            raise UnavailableError(
                f"rank {self._bootstrap.rank}: the plan names {NET_SOCKET}/{device}, but this process may use {names}: "
                f"is NCCL_SOCKET_IFNAME the same for all ranks of this host?"
            )
        return self._interfaces[device]

    def _proxy(self) -> native.SocketProxy:
        self.proxy = self.proxy or native.SocketProxy(self._doorbell, self._bootstrap.timeout_s)
        return self.proxy


def _stop(channel: int, ring: list[int], nets: list[Nets], rank: int) -> _Stop:
    position = ring.index(rank)
    alone = len(ring) == 1
    return _Stop(
        channel=channel,
        position=position,
        ranks=len(ring),
        previous=ring[position - 1],
        next=ring[(position + 1) % len(ring)],
        arrives=None if alone else nets[position - 1],
        leaves=None if alone else nets[position],
    )


T = TypeVar("T")


def opened(rank: int, open_it: Callable[[], T]) -> T:
    """What `open_it` opens of a peer's memory; a peer that has just died is a lost peer, not an absent device."""
    try:
        return open_it()
    except UnavailableError as error:
        raise PeerLostError(f"rank {rank}'s shared memory cannot be opened: {error}", rank) from None
