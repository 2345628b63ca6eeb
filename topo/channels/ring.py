# SPDX-License-Identifier: Apache-2.0
"""Rings: at each speed as many as the links carry, found one after the other by depth-first search.

The best total wins.

It reads the System's paths alone. A first search: not NCCL's own order everywhere, and no claim of an optimum on PCIe
trees.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from railgauge.topo.channels.capacity import Capacity
from railgauge.topo.channels.graph import MAX_CHANNELS, Channel
from railgauge.topo.host_ranks import CHANNELS_OF_RANK
from railgauge.topo.model import PATH_TYPES, Node, NodeKind, System
from railgauge.topo.paths import Paths

STEPS = 500  # tries of one ring's search: 16 ranks need 16 when nothing is in the way
TYPE_RANK = {name: rank for rank, name in enumerate(PATH_TYPES)}


class Taste(IntEnum):
    """Among neighbours as near: the one with the most room first, the least room first, or the next rank."""

    WIDE = -1
    NARROW = 1
    NEXT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rings of one speed (GB/s)."""

    speed: float
    channels: tuple[Channel, ...]

    @property
    def total(self) -> float:
        """GB/s of all rings together."""
        return self.speed * len(self.channels)


def pack(
    system: System,
    table: Paths,
    speed: float,
    nets: Sequence[Node] = (),
    *,
    same_net: bool = True,
    taste: Taste = Taste.WIDE,
) -> Found:
    """As many rings of `speed` as fit, up to `most_channels`; `taste` says which neighbours are tried first.

    With `nets` a ring comes in by a NIC and leaves by one (the same: `same_net`).
    """
    capacity = Capacity(system, table)
    channels: list[Channel] = []
    while len(channels) < most_channels(system):
        search = _Search(system.ranks, capacity, speed, taste)
        channel = search.closed() if not nets else search.through(rotated(nets, len(channels)), same_net)
        if channel is None:
            break
        channels.append(channel)
    return Found(speed=speed, channels=tuple(channels))


def most_channels(system: System) -> int:
    """32; for host ranks no more than the cores of a rank, and 8."""
    cores = [len(node.cpus) or 1 for node in system.ranks if node.kind is NodeKind.HOST]
    return min((*cores, CHANNELS_OF_RANK)) if cores else MAX_CHANNELS


def rotated(nets: Sequence[Node], by: int) -> list[Node]:
    """The NICs, beginning with another one for each channel."""
    at = by % len(nets)
    return [*nets[at:], *nets[:at]]


class _Search:
    """One ring. What it takes from the capacity stays taken when it succeeds."""

    def __init__(self, ranks: Sequence[Node], capacity: Capacity, speed: float, taste: Taste) -> None:
        self._ranks = ranks
        self._taste = taste
        self._capacity = capacity
        self._speed = speed
        self._steps = 0

    def closed(self) -> Channel | None:
        """A ring within the node, from rank 0 back to it."""
        first = self._ranks[0]
        if len(self._ranks) == 1:
            return Channel(ranks=(first.rank or 0,))
        order = self._extend([first], frozenset((first.id,)), (first,))
        return self._channel(order) if order else None

    def through(self, nets: Sequence[Node], same_net: bool) -> Channel | None:
        """A way from a NIC over all ranks to a NIC."""
        for entry in nets:
            ends = (entry,) if same_net else (entry, *(net for net in nets if net.id != entry.id))
            for first in self._by_nearness(entry, self._ranks):
                if not self._take(entry, first):
                    continue
                order = self._extend([first], frozenset((first.id,)), ends)
                if order:
                    return self._channel(order, entry)
                self._give(entry, first)
        return None

    def _channel(self, order: list[Node], entry: Node | None = None) -> Channel:
        *ranks, last = order
        nets = (entry.dev or 0, last.dev or 0) if entry else ()
        return Channel(ranks=tuple(node.rank or 0 for node in ranks), nets=nets)

    def _extend(self, order: list[Node], used: frozenset[str], ends: Sequence[Node]) -> list[Node] | None:
        """All ranks in an order that fits, then the end taken; None when there is none or the budget is spent."""
        self._steps += 1
        if self._steps > STEPS:
            return None
        here = order[-1]
        if len(order) == len(self._ranks):
            end = next((end for end in ends if self._take(here, end)), None)
            return [*order, end] if end else None
        for following in self._by_nearness(here, [node for node in self._ranks if node.id not in used]):
            if not self._take(here, following):
                continue
            done = self._extend([*order, following], used | {following.id}, ends)
            if done:
                return done
            self._give(here, following)
        return None

    def _by_nearness(self, here: Node, others: Sequence[Node]) -> Iterator[Node]:
        """Nearest type first, then by room as the taste is, then the next rank: with an NVSwitch that is rank order."""
        count = len(self._ranks)

        def rank(node: Node) -> tuple[int, float, int]:
            load = self._capacity.load(here, node)
            room = self._capacity.room(load) if load is not None else 0.0
            distance = ((node.rank or 0) - (here.rank if here.rank is not None else node.rank or 0)) % count
            return TYPE_RANK[self._capacity.path(here, node).type], round(room * self._taste, 3), distance

        return iter(sorted(others, key=rank))

    def _take(self, source: Node, target: Node) -> bool:
        load = self._capacity.load(source, target)
        if load is None or not self._capacity.fits(load, self._speed):
            return False
        self._capacity.take(load, self._speed)
        return True

    def _give(self, source: Node, target: Node) -> None:
        load = self._capacity.load(source, target)
        if load is not None:
            self._capacity.take(load, -self._speed)


def slowest(system: System, table: Paths, nets: Sequence[Node] = ()) -> Found | None:
    """One ring in rank order at whatever its links carry together, below all speeds of the tables.

    None without a path.
    """
    capacity = Capacity(system, table)
    ring = list(system.ranks)
    ends = [nets[0], *ring, nets[0]] if nets else [*ring, ring[0]]
    total: dict[object, float] = {}
    speed = float("inf")
    for source, target in pairwise(ends):
        load = capacity.load(source, target) if source.id != target.id else ()
        if load is None:
            return None
        for link, cost in load:
            total[link] = total.get(link, 0.0) + cost
            speed = min(speed, capacity.left[link] / total[link])
    devs = (nets[0].dev or 0,) * 2 if nets else ()
    channel = Channel(ranks=tuple(node.rank or 0 for node in ring), nets=devs)
    return Found(speed=max(int(speed * 1000) / 1000, 0.001), channels=(channel,))
