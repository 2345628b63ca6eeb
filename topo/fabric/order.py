# SPDX-License-Identifier: Apache-2.0
"""The order of nodes with the fewest crossings between leaves, and the least load of the worst cable.

Nodes of a block stand together, blocks of a group too: a ring then leaves each block once, and it cannot do with less.
Where routes are known, the first and last node of each block are chosen so that no cable carries more than it must.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.topo.fabric.places import Places
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import ChannelNics, ChannelPattern, JobNics, load_of, messages
from railgauge.topo.values.number import natural

if TYPE_CHECKING:
    import numpy as np

MOST_PAIRS = 24
"""Pairs of nodes that are tried for the step from one block to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderQuality:
    """Steps of a ring between blocks, and the GB/s of a ring that the worst cable allows (None: no speeds known)."""

    crossings: int
    gb_per_s: float | None
    worst: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder:
    """An order, its quality before and after, and what no order exceeds: crossings and GB/s, with the reason."""

    nodes: tuple[str, ...]
    before: OrderQuality
    after: OrderQuality
    least_crossings: int
    bound_gb_per_s: float | None
    bound_why: str


def order_nodes(
    job: JobNics, places: Places, routing: Routing, channels: Sequence[ChannelNics], *, adaptive: bool
) -> NodeOrder:
    """The best order found for the ring over some nodes; before: as they were given."""
    given = list(range(len(job.nodes)))
    block_of = [places.block_of.get(node, -1) for node in job.nodes]
    near = sorted(given, key=lambda place: (places.path(block_of[place]), natural(job.nodes[place])))
    best = near if adaptive else _joined(job, near, block_of, routing, channels)
    candidates = [best, *([near] if best != near else []), given]
    qualities = [quality(job, order, block_of, routing, channels, adaptive=adaptive) for order in candidates]
    chosen = max(
        range(len(candidates)), key=lambda place: (qualities[place].gb_per_s or 0.0, -qualities[place].crossings)
    )
    blocks = len(set(block_of))
    bound, why = _bound(job, block_of, routing, channels)
    return NodeOrder(
        nodes=tuple(job.nodes[place] for place in candidates[chosen]),
        before=qualities[-1],
        after=qualities[chosen],
        least_crossings=blocks if blocks > 1 else 0,
        bound_gb_per_s=bound,
        bound_why=why,
    )


def quality(
    job: JobNics,
    order: Sequence[int],
    block_of: Sequence[int],
    routing: Routing,
    channels: Sequence[ChannelNics],
    *,
    adaptive: bool,
) -> OrderQuality:
    """Crossings and worst cable of the ring over nodes in an order."""
    after = [*order[1:], *order[:1]]
    crossings = sum(block_of[here] != block_of[there] for here, there in zip(order, after, strict=True))
    found = load_of(
        routing, messages(job, order, channels, ChannelPattern.RING), ChannelPattern.RING, adaptive=adaptive
    )
    worst = found.worst(1)
    name = routing.fabric.cable_name(routing.fabric.cable_at[routing.ends[worst[0][0]]]) if worst else ""
    return OrderQuality(crossings=crossings, gb_per_s=found.gb_per_s, worst=name)


def _joined(
    job: JobNics, near: Sequence[int], block_of: Sequence[int], routing: Routing, channels: Sequence[ChannelNics]
) -> list[int]:
    """The order with each block's first and last node chosen: greedily, step by step, by the load of the cables."""
    import numpy as np

    runs: list[list[int]] = []
    for place in near:
        if runs and block_of[runs[-1][-1]] == block_of[place]:
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) < 2:
        return list(near)
    carried = np.zeros(len(routing.ends))
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for number, run in enumerate(runs):
        other = (number + 1) % len(runs)
        outs = [place for place in run if len(run) == 1 or place != firsts.get(number)]
        ins = [place for place in runs[other] if len(runs[other]) == 1 or place != lasts.get(other)]
        pair, load = _cheapest(job, _pairs(outs, ins), routing, channels, carried)
        lasts[number], firsts[other] = pair
        carried = carried + load
    found: list[int] = []
    for number, run in enumerate(runs):
        first, last = firsts[number], lasts[number]
        middle = [place for place in run if place not in (first, last)]
        found += [first, *middle, last] if first != last else [first, *middle]
    return found


def _pairs(outs: Sequence[int], ins: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs to try: the usual one first, then others at growing distance."""
    every = [(out, into) for into in ins for out in reversed(outs)]
    step = max(1, len(every) // MOST_PAIRS)
    return every[:1] + every[1 : 1 + MOST_PAIRS // 2] + every[1 + MOST_PAIRS // 2 :: step][: MOST_PAIRS // 2]


def _cheapest(
    job: JobNics,
    pairs: Sequence[tuple[int, int]],
    routing: Routing,
    channels: Sequence[ChannelNics],
    carried: "np.ndarray",
) -> "tuple[tuple[int, int], np.ndarray]":
    """The pair of nodes whose messages make the worst cable least loaded, and their load."""
    import numpy as np

    speed = np.where(routing.gb_per_s > 0, routing.gb_per_s, 1.0)
    sources = [job.nics[out][channel.leaves] for out, _ in pairs for channel in channels]
    targets = [job.nics[into][channel.enters] for _, into in pairs for channel in channels]
    loads = np.zeros((len(pairs), len(routing.ends)))
    for which, here in routing.walked(sources, targets):
        np.add.at(loads, (which // len(channels), here), 1.0)
    worst = np.max(np.where(loads > 0, (loads + carried) / speed, 0.0), axis=1)
    best = int(np.argmin(worst))
    return pairs[best], loads[best]


def _bound(
    job: JobNics, block_of: Sequence[int], routing: Routing, channels: Sequence[ChannelNics]
) -> tuple[float | None, str]:
    """GB/s that no order exceeds: each NIC sends its channels, and each block sends each of its channels out once."""
    fabric, share = routing.fabric, 1 / len(channels)
    ranks = len(job.nodes)
    share *= 2 * (ranks - 1) / ranks
    if ranks < 2:
        return None, ""
    worst, why = 0.0, ""
    leaving: dict[str, int] = {}
    blocks: dict[int, int] = {}
    for place, block in enumerate(block_of):
        blocks.setdefault(block, place)
    counts = Counter(channel.leaves for channel in channels)
    for ones in job.nics:
        for nic, count in counts.items():
            one = ones[nic]
            speed = fabric.cable_at[one.end].gb_per_s
            if not speed:
                return None, ""
            if count * share / speed > worst:
                worst, why = count * share / speed, f"NIC {one.name}"
    if len(blocks) > 1:
        for place in blocks.values():
            for channel in channels:
                leaf = fabric.leaf_of[job.nics[place][channel.leaves]]
                leaving[leaf] = leaving.get(leaf, 0) + 1
        upward = _upward(routing, leaving)
        for leaf, count in leaving.items():
            if upward[leaf] and count * share / upward[leaf] > worst:
                worst, why = count * share / upward[leaf], f"uplinks of {fabric.switches[leaf].name}"
    return (1 / worst if worst else None), why


def _upward(routing: Routing, leaves: Collection[str]) -> dict[str, float]:
    """GB/s from each of some leaves to other switches."""
    found = dict.fromkeys(leaves, 0.0)
    for cable in routing.fabric.trunks:
        for end in cable.ends:
            if end.device in found:
                found[end.device] += cable.gb_per_s or 0.0
    return found
