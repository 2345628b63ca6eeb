# SPDX-License-Identifier: Apache-2.0
"""The plan of all ranks from what each node found: channels joined, and the nodes' facts about their own ranks."""

from collections.abc import Sequence
from typing import TypeVar

from railgauge.collectives.node import Direct, JoiningNode
from railgauge.collectives.plan import Plan, Tree
from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.joined import Joined, join
from railgauge.topo.channels.joined_tree import JoinedTree
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET
from railgauge.transports.wire import Nets, unplanned_step

T = TypeVar("T")


def join_nodes(
    nodes: list[list[int]], described: list[JoiningNode], peers: Sequence[Peer], network: str = NET_SOCKET
) -> Plan:
    """Join the nodes' channels; `nodes` gives the ranks of each.

    Raises:
        UsageError: they cannot be joined. InputError: a description contradicts itself.
    """
    joined = join(node.plan() for node in described)
    order = [rank for ranks in nodes for rank in ranks]  # joining counts ranks node by node
    cores = [cores for node in described for cores in node.cpus]
    return Plan(
        rings=[[order[rank] for rank in ring.ranks] for ring in joined.rings],
        nets=[[_step(edge, joined, described, order, peers) for edge in ring.edges] for ring in joined.rings],
        trees=[_tree(tree, joined, described, order, peers) for tree in joined.trees],
        gb_per_s=joined.gb_per_s,
        cpus=[cores[order.index(rank)] for rank in range(len(order))],
        nodes=len(nodes),
        p2p=_by_pair(nodes, [node.p2p for node in described], len(order), False),
        pair_gb_per_s=_by_pair(nodes, [node.gb_per_s for node in described], len(order), 0.0),
        nvlink=all(node.nvlink for node in described),
        nics=_by_rank(nodes, [[node.device(dev) for dev in node.nics] for node in described], len(order), 0),
        direct=_by_rank(nodes, [_direct(node) for node in described], len(order), []),
        domains=_by_rank(nodes, [node.domains for node in described], len(order), ""),
        network=network,
    )


def _by_pair(nodes: list[list[int]], found: list[list[list[T]]], size: int, elsewhere: T) -> list[list[T]]:
    """The nodes' facts about their own pairs, by ranks of the job."""
    known = {
        (a, b): value
        for ranks, rows in zip(nodes, found, strict=True)
        for a, row in zip(ranks, rows, strict=False)
        for b, value in zip(ranks, row, strict=False)
    }
    return [[known.get((a, b), elsewhere) for b in range(size)] for a in range(size)]


def _by_rank(nodes: list[list[int]], found: list[list[T]], size: int, elsewhere: T) -> list[T]:
    """The nodes' facts about their own ranks, by ranks of the job."""
    pairs = (zip(ranks, row, strict=False) for ranks, row in zip(nodes, found, strict=True))
    known = {rank: value for pair in pairs for rank, value in pair}
    return [known.get(rank, elsewhere) for rank in range(size)]


def _direct(node: JoiningNode) -> list[list[Direct]]:
    """A node's, by devices of the network; other NICs are left out."""
    numbers = dict(node.devices)
    told = [[Direct(*one) for one in gpu] for gpu in node.direct]
    return [[one._replace(device=numbers[one.device]) for one in gpu if one.device in numbers] for gpu in told]


def _tree(
    tree: JoinedTree, joined: Joined, described: list[JoiningNode], order: list[int], peers: Sequence[Peer]
) -> Tree:
    size = len(order)
    found = Tree(parents=[-1] * size, up=[None] * size, down=[None] * size)
    for edge in tree.edges:
        child = order[edge.source]
        found.parents[child] = order[edge.target]
        found.up[child] = _step(edge, joined, described, order, peers)
        found.down[child] = _step(edge.reversed(), joined, described, order, peers)
    return found


def _step(edge: Edge, joined: Joined, described: list[JoiningNode], order: list[int], peers: Sequence[Peer]) -> Nets:
    if edge.nets:
        ends = zip((edge.source, edge.target), edge.nets, strict=True)
        return [described[joined.node_of(rank)].device(dev) for rank, dev in ends]
    return unplanned_step(peers[order[edge.source]], peers[order[edge.target]])  # within a node no NIC is named
