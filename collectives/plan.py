# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: every node's channels, joined into the rings that all ranks execute.

The first rank of each node detects and searches it as one of N (node_detection.py); rank 0 joins what they found. Ranks
of a node need not follow one another (mpirun --map-by node).
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from railgauge.collectives.node import Direct, Node
from railgauge.collectives.node_detection import detect_node
from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.joined import Joined, join
from railgauge.topo.channels.joined_tree import JoinedTree
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET, transport_name, why_not_shm
from railgauge.transports.wire import Nets, unplanned_step

PLAN_WITHIN_S = 60.0
"""A node may take this much longer than the timeout to be scanned: NVML can need many seconds."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A tree over all ranks: by rank its parent (-1: the root) and how the steps to and from it go."""

    parents: list[int]
    up: list[Nets]
    down: list[Nets]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What all ranks execute."""

    rings: list[list[int]]
    """For each channel the ranks in ring order."""
    nets: list[list[Nets]]
    """For each channel and place in its ring how the step to the next rank goes."""
    trees: list[Tree]
    """The double tree of each channel: all first ones, then all second ones."""
    gb_per_s: float
    """Predicted bus bandwidth of all channels together, in GB/s."""
    cpus: list[list[int]]
    """The cores each rank belongs on; empty where nothing is known."""
    nodes: int
    """How many nodes take part."""
    p2p: list[list[bool]]
    """By rank and rank whether NCCL lets one GPU write into the memory of the other; False of host memory."""
    pair_gb_per_s: list[list[float]]
    """Between GPUs of a node by their path, GB/s; 0 elsewhere."""
    nvlink: bool
    """Whether all GPUs of each node have NVLink to one another."""
    nics: list[int]
    """By rank the network's device that is its GPU's, for what goes over no channel; 0 of ranks in host memory."""
    direct: list[list[Direct]]
    """By rank what its GPU may do with which of the network's devices; none of ranks in host memory."""
    network: str = NET_SOCKET
    """What `nets` are devices of."""

    @property
    def transports(self) -> list[list[str]]:
        """For each channel and place in its ring the transport to the next rank, as NCCL's log names it."""
        return [[transport_name(step, self.network) for step in steps] for steps in self.nets]


def make_plan(
    bootstrap: Bootstrap,
    peers: Sequence[Peer],
    graph_file: str | None,
    log: NcclLog,
    environ: Mapping[str, str] | None = None,
    network: Network = SOCKETS,
) -> Plan:
    """Plan the ranks on all nodes, over `graph_file`'s channels where it is given; all ranks call it together.

    `peers` are all ranks (`peers.exchange`), `network` is what they agreed on (`choose_network`).

    Raises:
        InputError: a topology or graph file of this node is unreadable, invalid or does not fit.
        UnavailableError: this node has no network interface to use.
        UsageError: the channels of the nodes cannot be joined.
        RunError: another rank has failed.
    """
    env = os.environ if environ is None else environ
    nodes = nodes_of(peers)
    names = _names([peers[ranks[0]].host for ranks in nodes])
    own = next(number for number, ranks in enumerate(nodes) if bootstrap.rank in ranks)
    limit_s = bootstrap.timeout_s + PLAN_WITHIN_S
    found = b""
    if nodes[own][0] == bootstrap.rank:
        gpus = [bus_id for rank in nodes[own] if (bus_id := peers[rank].bus_id)]
        found = detect_node(names[own], len(nodes[own]), len(nodes), graph_file, log, env, gpus, network).pack()
    everybody = bootstrap.all_gather_bytes(found, limit_s)
    joined = None
    if bootstrap.rank == 0:
        described = [Node.unpack(everybody[ranks[0]]) for ranks in nodes]
        joined = asdict(join_nodes(nodes, described, peers, network.name))
    plan = _received(bootstrap.broadcast(joined, limit_s=limit_s))
    _log(plan, peers, bootstrap.rank, log)
    return plan


def nodes_of(peers: Sequence[Peer]) -> list[list[int]]:
    """The ranks of each node (equal `host_id`), nodes in the order of their first ranks."""
    nodes: dict[str, list[int]] = {}
    for peer in peers:
        nodes.setdefault(peer.host_id, []).append(peer.rank)
    return list(nodes.values())


def join_nodes(nodes: list[list[int]], described: list[Node], peers: Sequence[Peer], network: str = NET_SOCKET) -> Plan:
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
        network=network,
    )


def _by_pair(nodes: list[list[int]], found: list[list[list[T]]], size: int, elsewhere: T) -> list[list[T]]:
    """What the nodes know of their own pairs, by ranks of the job."""
    known = {
        (a, b): value
        for ranks, rows in zip(nodes, found, strict=True)
        for a, row in zip(ranks, rows, strict=False)
        for b, value in zip(ranks, row, strict=False)
    }
    return [[known.get((a, b), elsewhere) for b in range(size)] for a in range(size)]


def _by_rank(nodes: list[list[int]], found: list[list[T]], size: int, elsewhere: T) -> list[T]:
    """What the nodes know of their own ranks, by ranks of the job."""
    pairs = (zip(ranks, row, strict=False) for ranks, row in zip(nodes, found, strict=True))
    known = {rank: value for pair in pairs for rank, value in pair}
    return [known.get(rank, elsewhere) for rank in range(size)]


def _direct(node: Node) -> list[list[Direct]]:
    """A node's, by devices of the network; of NICs that are none of them, nothing."""
    numbers = dict(node.devices)
    told = [[Direct(*one) for one in gpu] for gpu in node.direct]
    return [[one._replace(device=numbers[one.device]) for one in gpu if one.device in numbers] for gpu in told]


def _received(facts: dict[str, Any]) -> Plan:
    trees = [Tree(**tree) for tree in facts["trees"]]
    direct = [[Direct(*one) for one in gpu] for gpu in facts["direct"]]
    return Plan(**facts | {"trees": trees, "direct": direct})


def _tree(tree: JoinedTree, joined: Joined, described: list[Node], order: list[int], peers: Sequence[Peer]) -> Tree:
    size = len(order)
    found = Tree(parents=[-1] * size, up=[None] * size, down=[None] * size)
    for edge in tree.edges:
        child = order[edge.source]
        found.parents[child] = order[edge.target]
        found.up[child] = _step(edge, joined, described, order, peers)
        found.down[child] = _step(edge.reversed(), joined, described, order, peers)
    return found


def _step(edge: Edge, joined: Joined, described: list[Node], order: list[int], peers: Sequence[Peer]) -> Nets:
    if edge.nets:
        ends = zip((edge.source, edge.target), edge.nets, strict=True)
        return [described[joined.node_of(rank)].device(dev) for rank, dev in ends]
    return unplanned_step(peers[order[edge.source]], peers[order[edge.target]])  # within a node no NIC is named


def _names(hosts: list[str]) -> list[str]:
    """The hosts' names; a number is added where several nodes have one."""
    count = Counter(hosts)
    return [host if count[host] == 1 else f"{host}-{number}" for number, host in enumerate(hosts)]


def _log(plan: Plan, peers: Sequence[Peer], rank: int, log: NcclLog) -> None:
    if rank == 0:
        for number, ring in enumerate(plan.rings):
            order = " ".join(str(rank) for rank in ring)
            log.info("INIT", f"Channel {number:02d}/{len(plan.rings):02d} : {order}", also="GRAPH")
    following = {ring[(ring.index(rank) + 1) % len(ring)] for ring in plan.rings} - {rank}
    for other in sorted(following):
        if not plan.p2p[rank][other] and (why := why_not_shm(peers[rank], peers[other])):
            log.info("NET", f"{rank} -> {other} not via SHM: {why}", also="SHM")
