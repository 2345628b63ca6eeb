# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: every node's channels, joined into the rings that all ranks execute.

The first rank of each node detects and searches it as one of N (node_detection.py); rank 0 joins what they found
(joined_nodes.py). Modules for these steps are loaded only there. Ranks of a node need not be consecutive (mpirun
--map-by node).
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.collectives.node import Direct, JoiningNode
from railgauge.topo.errors import InputError, MismatchError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET, transport_name, why_not_shm
from railgauge.transports.wire import Nets

PLAN_WITHIN_S = 60.0
"""How much longer than the timeout scanning a node may take, in seconds: NVML can need many seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A tree over all ranks: by rank its parent (-1: the root) and the routes of the steps to and from it."""

    parents: list[int]
    up: list[Nets]
    down: list[Nets]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What all ranks execute."""

    rings: list[list[int]]
    """For each channel the ranks in ring order."""
    nets: list[list[Nets]]
    """For each channel and position in its ring the route of the step to the next rank."""
    trees: list[Tree]
    """The double tree of each channel: all first ones, then all second ones."""
    gb_per_s: float
    """Predicted bus bandwidth of all channels together, in GB/s."""
    cpus: list[list[int]]
    """The cores for each rank; empty if unknown."""
    nodes: int
    """How many nodes take part."""
    p2p: list[list[bool]]
    """By rank and rank whether NCCL lets one GPU write into the other's memory; False for host memory."""
    pair_gb_per_s: list[list[float]]
    """Between GPUs of a node by their path, GB/s; 0 elsewhere."""
    nvlink: bool
    """Whether all GPUs of each node have NVLink to one another."""
    nics: list[int]
    """By rank the network's device of its GPU, for traffic outside channels; 0 for ranks in host memory."""
    direct: list[list[Direct]]
    """By rank how its GPU can use each of the network's devices; empty for ranks in host memory."""
    domains: list[str]
    """By rank the NVLink domain of several hosts that its GPU is in (`domain_of`); "": none, as for host memory."""
    network: str = NET_SOCKET
    """The network to which the devices in `nets` belong."""

    def is_for(self, ranks: int) -> bool:
        """Whether it describes exactly this many ranks."""
        by_rank: list[Sequence[object]] = [self.cpus, self.p2p, self.pair_gb_per_s, self.nics, self.direct]
        by_rank += [self.domains]
        by_rank += [*self.p2p, *self.pair_gb_per_s]
        by_rank += [each for tree in self.trees for each in (tree.parents, tree.up, tree.down)]
        every = list(range(ranks))
        steps = ranks if ranks > 1 else 0
        rings = all(sorted(ring) == every for ring in self.rings) and all(len(nets) == steps for nets in self.nets)
        return rings and len(self.nets) == len(self.rings) and all(len(each) == ranks for each in by_rank)

    def part(self, ranks: Sequence[int]) -> "Plan":
        """The plan of some ranks between which no channels were searched: rings in this order, steps without a route,
        and no trees.
        """
        order = list(range(len(ranks)))
        steps: list[Nets] = [None] * (len(ranks) if len(ranks) > 1 else 0)
        return replace(
            self,
            rings=[order] * len(self.rings),
            nets=[steps] * len(self.rings),
            trees=[],
            cpus=[self.cpus[rank] for rank in ranks],
            p2p=[[self.p2p[a][b] for b in ranks] for a in ranks],
            pair_gb_per_s=[[self.pair_gb_per_s[a][b] for b in ranks] for a in ranks],
            nics=[self.nics[rank] for rank in ranks],
            direct=[self.direct[rank] for rank in ranks],
            domains=[self.domains[rank] for rank in ranks],
        )

    @property
    def transports(self) -> list[list[str]]:
        """For each channel and position in its ring the transport to the next rank, as NCCL's log names it."""
        return [[transport_name(step, self.network) for step in steps] for steps in self.nets]


def make_plan(
    bootstrap: Bootstrap,
    peers: Sequence[Peer],
    graph_file: str | None,
    log: NcclLog,
    environ: Mapping[str, str] | None = None,
    network: Network = SOCKETS,
    *,
    save_capture: str | None = None,
) -> Plan:
    """Plan the ranks on all nodes, with `graph_file`'s channels if it is given; all ranks call it together.

    `peers` are all ranks (`peers.exchange`), `network` is what they agreed on (`choose_network`).
    `save_capture`: the first rank of each node writes what it read of the node to this file.

    Raises:
        InputError: a topology or graph file of this node is unreadable, invalid or does not fit.
        UnavailableError: this node has no network interface to use.
        UsageError: the channels of the nodes cannot be joined.
        RunError: another rank has failed.
    """
    env = os.environ if environ is None else environ
    nodes = nodes_of(peers)
    names = node_names([peers[ranks[0]].host for ranks in nodes])
    own = next(number for number, ranks in enumerate(nodes) if bootstrap.rank in ranks)
    limit_s = bootstrap.timeout_s + PLAN_WITHIN_S
    found = b""
    if nodes[own][0] == bootstrap.rank:
        from railgauge.collectives.node_detection import detect_node

        gpus = [bus_id for rank in nodes[own] if (bus_id := peers[rank].bus_id)]
        node = detect_node(names[own], len(nodes[own]), len(nodes), graph_file, log, env, gpus, network, save_capture)
        found = node.pack()
    everybody = bootstrap.all_gather_bytes(found, limit_s)
    joined = None
    if bootstrap.rank == 0:
        from railgauge.collectives.joined_nodes import join_nodes

        described = [_unpacked(bootstrap, everybody[ranks[0]], ranks) for ranks in nodes]
        try:
            joined = join_nodes(nodes, described, peers, network.name)
        except InputError as error:
            raise MismatchError(f"the description of a node: {error}: is the same railgauge installed there?") from None
    plan: Plan = bootstrap.broadcast(joined, Plan, limit_s=limit_s)
    if not plan.is_for(len(peers)):
        raise bootstrap.junk(0)
    _log(plan, peers, bootstrap.rank, log)
    return plan


def nodes_of(peers: Sequence[Peer]) -> list[list[int]]:
    """The ranks of each node (equal `host_id`), nodes in the order of their first ranks."""
    nodes: dict[str, list[int]] = {}
    for peer in peers:
        nodes.setdefault(peer.host_id, []).append(peer.rank)
    return list(nodes.values())


def _unpacked(bootstrap: Bootstrap, data: bytes, ranks: Sequence[int]) -> JoiningNode:
    """The description that a node's first rank has sent."""
    try:
        node = JoiningNode.unpack(data)
    except ValueError:
        raise bootstrap.junk(ranks[0]) from None
    if node.ranks != len(ranks):
        raise bootstrap.junk(ranks[0])
    return node


def node_names(hosts: list[str]) -> list[str]:
    """The hosts' names; a number is added if several nodes have the same one."""
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
