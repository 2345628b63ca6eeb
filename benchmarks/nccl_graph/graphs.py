# SPDX-License-Identifier: Apache-2.0
"""The graphs that NCCL is given: its own choice, the best, and one that it would never have chosen."""

import itertools
from dataclasses import replace

from railgauge.topo.channels.graph import Channel, Graphs, Policy
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.predict.search import search

FOREIGN_CHANNELS = {2: 7}  # of two GPUs, whose only ring NCCL knows too: an odd number of channels shows
CHANNELS = 12
SHARE = 0.99  # of the fullest link


def graphs_of(system: System) -> dict[str, Graphs | None]:
    """By name; None where NCCL is left alone."""
    best = search(system)
    return {
        "nccl alone": None,
        "nccl's, from our file": search(system, policy=Policy.NCCL),
        "best": best,
        "foreign": foreign(system, best),
    }


def foreign(system: System, best: Graphs) -> Graphs:
    """Rings in every order that there is, in turn, together within what the best carry."""
    count = len(system.ranks)
    orders = [(0, *rest) for rest in itertools.permutations(range(1, count))]
    channels = FOREIGN_CHANNELS.get(count, CHANNELS)
    speed = round(SHARE * best.ring.total(1) / channels, 2)
    rings = tuple(Channel(ranks=orders[number % len(orders)]) for number in range(channels))
    ring = replace(
        best.ring, channels=rings, gb_per_s_intra=speed, gb_per_s_inter=speed, same_channels=int(len(orders) == 1)
    )
    return Graphs(ring=ring, tree=replace(ring, pattern=best.tree.pattern))
