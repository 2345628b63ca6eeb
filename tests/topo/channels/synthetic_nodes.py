# SPDX-License-Identifier: Apache-2.0
"""Nodes of made-up channels, for what only joins them."""

import random

from railgauge.topo.channels.graph import BALANCED_TREE, RING, TREE, Channel, Graph, Graphs
from railgauge.topo.nccl.graph.model import Node, NodeKind, System


def system(size, sm=90):
    ranks = tuple(Node(id=f"GPU/0-{i:x}", kind=NodeKind.GPU, index=i, dev=i, rank=i, sm=sm) for i in range(size))
    return System(nodes=ranks, links=(), ranks=ranks)


def graph(pattern, channels, *, cross_nic=0, speed=24.0, intra="NVL", inter="PIX"):
    return Graph(
        pattern=pattern,
        cross_nic=cross_nic,
        same_channels=0,
        type_intra=intra,
        type_inter=inter,
        latency_inter=0.0,
        gb_per_s_intra=speed,
        gb_per_s_inter=speed,
        search_ms=0.0,
        channels=tuple(channels),
    )


def node(size, channels, seed=0, *, pattern=BALANCED_TREE, nets=4, cross_nic=0, speed=24.0, sm=90):
    """(name, System, Graphs): ranks in a random order in each channel, in and out by one NIC, or by a pair crossed."""
    chance, found = random.Random(seed), []
    for number in range(channels):
        order = chance.sample(range(size), size)
        net = number % nets
        found.append(Channel(ranks=tuple(order), nets=(net, net)))
    if cross_nic == 2:
        found = [one for number in range(0, channels, 2) for one in crossed(found[number], number % nets, nets)]
    ring = graph(RING, found[:channels], cross_nic=cross_nic, speed=speed)
    tree = graph(TREE if size == 1 else pattern, found[:channels], speed=speed)
    return f"node-{seed}", system(size, sm), Graphs(ring=ring, tree=tree)


def crossed(channel, net, nets):
    """A channel from one NIC to the next, and the same the other way around."""
    other = (net + 1) % nets
    return Channel(ranks=channel.ranks, nets=(net, other)), Channel(ranks=channel.ranks[::-1], nets=(other, net))
