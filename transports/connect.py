# SPDX-License-Identifier: Apache-2.0
"""Connects wires: for each that ends here a FIFO is offered, and for each that begins here one is opened, over shared
memory or a socket; over NET/IB both ends are made and then joined. The bootstrap carries the facts that the ends
exchange.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from railgauge._native import transports as native
from railgauge.topo.errors import PeerLostError, UnavailableError, UsageError
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.addresses import host_and_port
from railgauge.transports.data_connection import Name, connect, sockets_of
from railgauge.transports.data_listener import DataListener
from railgauge.transports.descriptor import Descriptor
from railgauge.transports.fault import Fault
from railgauge.transports.group import Group
from railgauge.transports.interface import Interface, usable_interfaces
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.select import NET_SOCKET
from railgauge.transports.slots import slots_of
from railgauge.transports.socket_threads import socket_threads
from railgauge.transports.tcp import peer_name
from railgauge.transports.wire import Wire

if TYPE_CHECKING:
    from railgauge.transports.ib.connect import IbEnd, IbEnds

REACH_SHARE = 0.5
"""A rank gives up connecting after this share of the timeout: it knows the reason, the ranks that wait for it do
not."""

MOST_SOCKETS = 64
"""Of one connection, as NCCL has it: NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD."""


class ListenAddress(NamedTuple):
    """Where a receiver listens, and for how many sockets."""

    host: str
    port: int
    sockets: int


Offer: TypeAlias = Descriptor | ListenAddress | bytes
"""What a receiver tells its sender: a segment or an address; over NET/IB both tell the other of their queue pairs."""
End: TypeAlias = native.Sender | native.Receiver


class Connector:
    """Makes one rank's connections in a group; what they need lives in here: its doorbell, its proxies, its NICs.

    Wires and messages name ranks by their numbers in the job.
    """

    def __init__(
        self, group: Group, doorbell: native.Doorbell, fault: Fault | None, network: Network = SOCKETS
    ) -> None:
        self._group = group
        self._job = group.job
        self._rank = group.world_rank
        self._doorbell = doorbell
        self._fault = fault
        self._network = network
        self._doorbells = {self._rank: doorbell}
        self._descriptors: dict[int, str] = {}
        self._interfaces: list[Interface] = []
        self.proxy: native.SocketProxy | None = None
        self._ib: IbEnds | None = None

    def connect(self, wires: Iterable[Wire]) -> dict[Wire, End]:
        """Connect this rank's wires, and return their ends here. All ranks do it together, with the same wires.

        Raises:
            UnavailableError: a network interface that the plan names is not here.
            PeerLostError: a neighbour cannot be reached, or its memory not be opened.
        """
        rank, every = self._rank, list(wires)
        listener = DataListener(self._job.session, self._job.timeout_s)
        try:
            ours = [wire for wire in every if rank in (wire.source, wire.target)]
            made = self._connect(
                [wire for wire in ours if wire.source == rank], [wire for wire in ours if wire.target == rank], listener
            )
        finally:
            listener.close()
        if any(wire.over_ib for wire in every):
            self._group.barrier()  # nothing is sent to queue pairs that are not ready to receive
        return made

    def register(self, address: int, size: int) -> bool:
        """Let RDMA devices send from memory without a copy; False when no connection uses one.

        Raises:
            UnavailableError: a device cannot register it.
        """
        if self._ib is None:
            return False
        self._ib.proxy.register(address, size)
        return True

    def deregister(self, address: int, size: int) -> None:
        """Take one `register` back."""
        if self._ib:
            self._ib.proxy.deregister(address, size)

    @property
    def ib(self) -> "IbEnds | None":
        """What goes over NET/IB; None where nothing does."""
        return self._ib

    def abort(self) -> None:
        """Close sockets and queue pairs, even with operations under way."""
        for proxy in self._proxies:
            proxy.abort()

    def close(self) -> None:
        """Send what the others still have to receive, and end; may be called twice."""
        for proxy in self._proxies:
            proxy.close()

    @property
    def _proxies(self) -> list[native.SocketProxy | native.IbProxy]:
        return [*([self.proxy] if self.proxy else []), *([self._ib.proxy] if self._ib else [])]

    def shared_segment(self, place_bytes: int, sharing: Sequence[int]) -> native.SharedSegment:
        """Make this rank's shared segment, and open those of the ranks on its host. All ranks do it together.

        `sharing` are those by their numbers in the group, this one among them, in one order on all of them.

        Where the kernel lets all of them, they may read each other's memory too, unless RAILGAUGE_CMA is 0 for one.

        Raises:
            PeerLostError: another's memory cannot be opened.
        """
        segment = native.SharedSegment(place_bytes)
        self._tell_doorbells()
        cross_memory = bool(parameter(os.environ, "RAILGAUGE_CMA", 1))
        if cross_memory:
            native.permit_cross_memory()
        descriptors = self._group.all_gather(segment.descriptor, Descriptor)
        peers: list[tuple[int, int, str, native.Doorbell | None]] = [
            (rank, peer, "", None) if peer == self._rank else (rank, peer, descriptors[rank], self._doorbell_of(peer))
            for rank, peer in ((rank, self._group.members[rank]) for rank in sharing)
        ]
        opened(None, lambda: segment.open(peers))
        if all(self._group.all_gather(cross_memory and segment.reads_peers, bool)):
            segment.allow_cross_memory()
        return segment

    def _connect(self, leaving: list[Wire], arriving: list[Wire], listener: DataListener) -> dict[Wire, End]:
        self._tell_doorbells()
        segments = {wire: self._shm_receiver(wire) for wire in arriving if wire.devices is None}
        ib_senders = {wire: self._ib_ends().sender(wire) for wire in leaving if wire.over_ib}
        ib_receivers = {wire: self._ib_ends().receiver(wire) for wire in arriving if wire.over_ib}
        by_ib: dict[Wire, IbEnd] = ib_senders | ib_receivers
        told: list[tuple[int, int, int, Offer]] = [(*wire.name, end.facts) for wire, end in by_ib.items()]
        told += [(*wire.name, self._offer(wire, segments, listener)) for wire in arriving if not wire.over_ib]
        offers: dict[tuple[int, ...], Offer] = {
            (rank, *name): offer
            for rank, each in zip(
                self._group.members, self._group.all_gather(told, list[tuple[int, int, int, Offer]]), strict=True
            )
            for *name, offer in each
        }
        for wire, end in by_ib.items():
            other = wire.source + wire.target - self._rank
            end.connect(_facts(wire, other, offers.get((other, *wire.name))))
        expected = {name for wire in arriving if wire.over_sockets for name in self._incoming(wire)}
        deadline = time.monotonic() + self._job.timeout_s
        with listener.accepting(expected, deadline, lambda: self._job.failure is not None):
            senders: dict[Wire, End] = {
                wire: self._sender(wire, ib_senders.get(wire), offers.get((wire.target, *wire.name)))
                for wire in leaving
            }
        taken = {wire: self._net_receiver(wire, listener) for wire in arriving if wire.over_sockets}
        return senders | segments | taken | ib_receivers

    def _ib_ends(self) -> "IbEnds":
        from railgauge.transports.ib.connect import IbEnds

        self._ib = self._ib or IbEnds(self._network, self._rank, self._doorbell, self._job.timeout_s)
        return self._ib

    def _offer(self, wire: Wire, segments: dict[Wire, native.ShmReceiver], listener: DataListener) -> Offer:
        if wire.devices:
            interface = self._interface(wire.devices[1])
            return ListenAddress(*listener.address(interface), socket_threads(interface.name, os.environ).sockets)
        return Descriptor(segments[wire].descriptor)

    def _shm_receiver(self, wire: Wire) -> native.ShmReceiver:
        return native.ShmReceiver(wire.source, self._doorbell_of(wire.source), *slots_of(os.environ))

    def _net_receiver(self, wire: Wire, listener: DataListener) -> native.SocketReceiver:
        assert wire.devices
        socks = listener.taken(self._incoming(wire))
        threads = socket_threads(self._interface(wire.devices[1]).name, os.environ).threads
        address, via = peer_name(socks[0]), f"{NET_SOCKET}/{wire.devices[1]}"
        fds = [sock.detach() for sock in socks]
        return native.SocketReceiver(self._proxy(), fds, threads, wire.source, address, via, *slots_of(os.environ))

    def _incoming(self, wire: Wire) -> list[Name]:
        """The sockets of a connection that ends here."""
        assert wire.devices
        return sockets_of(_name(wire), socket_threads(self._interface(wire.devices[1]).name, os.environ).sockets)

    def _sender(self, wire: Wire, made: native.Sender | None, offer: Offer | None) -> native.Sender:
        sender = made or (self._net_sender if wire.devices else self._shm_sender)(wire, offer)
        fault = self._fault
        if fault and (fault.rank, fault.channel) == (wire.source, wire.channel):
            return native.FaultySender(sender, fault.kind, fault.message, fault.seconds)
        return sender

    def _shm_sender(self, wire: Wire, offer: Offer | None) -> native.Sender:
        if not isinstance(offer, Descriptor):
            raise UsageError(
                f"rank {wire.target} offers no shared memory on channel {wire.channel}: do the plans differ?"
            )
        doorbell = self._doorbell_of(wire.target)
        return opened(wire.target, lambda: native.ShmSender(wire.target, doorbell, offer))

    def _net_sender(self, wire: Wire, offer: Offer | None) -> native.Sender:
        if not isinstance(offer, ListenAddress) or not wire.devices:
            raise UsageError(f"rank {wire.target} offers no address on channel {wire.channel}: do the plans differ?")
        host, port, count = offer
        if not 0 < port < 65536 or not 0 < count <= MOST_SOCKETS:
            raise self._group.junk(list(self._group.members).index(wire.target))
        interface, timeout_s = self._interface(wire.devices[0]), self._job.timeout_s
        socks = connect(
            sockets_of(_name(wire), count),
            (host, port),
            interface,
            self._job.session,
            deadline=time.monotonic() + timeout_s * REACH_SHARE,
            timeout_s=timeout_s,
        )
        threads = socket_threads(interface.name, os.environ).with_sockets(count).threads
        address, via = host_and_port(host, port), f"{NET_SOCKET}/{wire.devices[0]}"
        fds = [sock.detach() for sock in socks]
        return native.SocketSender(self._proxy(), fds, threads, wire.target, address, via, *slots_of(os.environ))

    def _tell_doorbells(self) -> None:
        if not self._descriptors:
            told = self._group.all_gather(self._doorbell.descriptor, Descriptor)
            self._descriptors = dict(zip(self._group.members, told, strict=True))

    def _doorbell_of(self, rank: int) -> native.Doorbell:
        if rank not in self._doorbells:
            self._doorbells[rank] = opened(rank, lambda: native.Doorbell.open(self._descriptors[rank]))
        return self._doorbells[rank]

    def _interface(self, device: int) -> Interface:
        self._interfaces = self._interfaces or usable_interfaces(os.environ)
        if device >= len(self._interfaces):
            names = ", ".join(one.name for one in self._interfaces)
            raise UnavailableError(
                f"rank {self._rank}: the plan names {NET_SOCKET}/{device}, but this process can use only {names}: "
                f"is NCCL_SOCKET_IFNAME the same for all ranks of this host?"
            )
        return self._interfaces[device]

    def _proxy(self) -> native.SocketProxy:
        self.proxy = self.proxy or native.SocketProxy(self._doorbell, self._job.timeout_s)
        return self.proxy


def _name(wire: Wire) -> Name:
    return Name(*wire.name)


def _facts(wire: Wire, other: int, offer: Offer | None) -> bytes:
    if not isinstance(offer, bytes):
        raise UsageError(f"rank {other} offers no queue pairs on channel {wire.channel}: do the plans differ?")
    return offer


T = TypeVar("T")


def opened(rank: int | None, open_it: Callable[[], T]) -> T:
    """What `open_it` opens of a peer's memory; the error of one that has just died names it.

    `rank` is the peer, None when it may be any.
    """
    try:
        return open_it()
    except PeerLostError as error:
        whose = "a rank's" if rank is None else f"rank {rank}'s"
        raise PeerLostError(f"{whose} shared memory cannot be opened: {error}", rank) from None
