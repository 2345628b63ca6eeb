# SPDX-License-Identifier: Apache-2.0
"""Connects the channels of a plan: every rank opens a FIFO to the next rank of each ring, and takes one from the
previous. The receiver makes it; the bootstrap carries its descriptor to the sender.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from railgauge._native import transports as native
from railgauge.topo.errors import PeerLostError, UnavailableError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.fault import Fault
from railgauge.transports.peer import Peer
from railgauge.transports.select import choose_transport

SLOTS = 4
SLOT_BYTES = 256 << 10
"""Few large slots: measured 1.1 to 1.2 times faster from 1 MiB on than 8 of 64 KiB (benchmarks/README.md)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RingEnds:
    """One rank's two connections on one ring; both None in a ring of one."""

    channel: int
    position: int
    ranks: int
    next: native.Sender | None
    previous: native.Receiver | None


def connect_rings(
    rings: list[list[int]], peers: list[Peer], bootstrap: Bootstrap, doorbell: native.Doorbell, fault: Fault | None
) -> list[RingEnds]:
    """Connect this rank on every ring (ranks in ring order). All ranks call it with the same rings.

    Raises:
        UnavailableError: no transport reaches a neighbour.
        PeerLostError: a neighbour's memory cannot be opened.
    """
    rank = bootstrap.rank
    doorbells = _Doorbells(rank, doorbell, peers)
    receivers = [_receiver(ring, peers, rank, doorbells) for ring in rings]
    descriptors = bootstrap.all_gather([r.descriptor if r else "" for r in receivers])
    ends = []
    for channel, (ring, receiver) in enumerate(zip(rings, receivers, strict=True)):
        following = _neighbour(ring, rank, 1)
        sender = None
        if receiver:
            sender = _sender(channel, peers[rank], peers[following], descriptors[following][channel], doorbells, fault)
        ends.append(
            RingEnds(channel=channel, position=ring.index(rank), ranks=len(ring), next=sender, previous=receiver)
        )
    return ends


class _Doorbells:
    """Opens each neighbour's doorbell once."""

    def __init__(self, rank: int, own: native.Doorbell, peers: list[Peer]) -> None:
        self._peers = peers
        self._open = {rank: own}

    def of(self, rank: int) -> native.Doorbell:
        if rank not in self._open:
            self._open[rank] = opened(rank, lambda: native.Doorbell.open(self._peers[rank].doorbell))
        return self._open[rank]


T = TypeVar("T")


def opened(rank: int, open_it: Callable[[], T]) -> T:
    """What `open_it` opens of a peer's memory; a peer that has just died is a lost peer, not an absent device."""
    try:
        return open_it()
    except UnavailableError as error:
        raise PeerLostError(f"rank {rank}'s shared memory cannot be opened: {error}", rank) from None


def _neighbour(ring: list[int], rank: int, step: int) -> int:
    return ring[(ring.index(rank) + step) % len(ring)]


def _receiver(ring: list[int], peers: list[Peer], rank: int, doorbells: _Doorbells) -> native.ShmReceiver | None:
    previous = _neighbour(ring, rank, -1)
    if previous == rank:
        return None
    choose_transport(peers[previous], peers[rank])
    return native.ShmReceiver(previous, doorbells.of(previous), SLOTS, SLOT_BYTES)


def _sender(
    channel: int, here: Peer, there: Peer, descriptor: str, doorbells: _Doorbells, fault: Fault | None
) -> native.Sender:
    choose_transport(here, there)
    doorbell = doorbells.of(there.rank)
    sender = opened(there.rank, lambda: native.ShmSender(there.rank, doorbell, descriptor))
    if fault and (fault.rank, fault.channel) == (here.rank, channel):
        return native.FaultySender(sender, fault.kind, fault.message, fault.seconds)
    return sender
