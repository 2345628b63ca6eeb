# SPDX-License-Identifier: Apache-2.0
"""Messages between pairs of GPUs (all-to-all, gather, scatter, sendrecv), by the fullest link within a node and to its
NICs.

NCCL has no model of these. Each GPU sends and receives by its own NICs, those of its rail (messages to other rails
change rail within the node: PXN), so that with rails only messages beyond a leaf's nodes cross the spines.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.limiting_cable import LimitingCable, Sent
from railgauge.topo.channels.load import Step
from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration
from railgauge.topo.predict import nccl_constants as nccl
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.load import Fullest, of_steps
from railgauge.topo.predict.nccl_cost import launch_us
from railgauge.topo.predict.nccl_model import generation
from railgauge.topo.predict.plan import NodePlan


def pair_cost(plan: NodePlan, collective: Collective, size: int) -> Cost:
    """The time when each rank sends `size` bytes: to all in equal parts (all-to-all), or to the next rank.

    For gather and scatter: the root, the first rank, receives or sends `size` bytes in equal parts.
    """
    peers = 1 if collective is Collective.SEND_RECV else plan.ranks - 1
    start = calibration.PAIR_US + launch_us(plan) + _net_us(plan)
    far = plan.fabric.far_us(plan.nics, plan.nodes) if plan.nodes > plan.nodes_per_leaf else 0.0
    near = within(plan, collective).share / calibration.PAIR_EFFICIENCY[generation(plan)]
    net = between(plan, collective).share / spine_share(plan, collective) / calibration.PAIR_NET_EFFICIENCY
    return Cost(
        latency_us=start + calibration.PEER_US * peers * plan.per_thread + far,
        transfer_us=size * max(near, net) / 1e3,
    )


def _net_us(plan: NodePlan) -> float:
    """A message to another node: NCCL's step over the network and one to the GPU that is near its NIC, calibrated."""
    if plan.nodes == 1:
        return 0.0
    row, scale = nccl.ORDER.index(Protocol.SIMPLE), calibration.STEP_SCALE[Protocol.SIMPLE][generation(plan)]
    steps = (nccl.step_us(wires, Algorithm.RING, row, plan.release) for wires in ("NET", "NVLINK"))
    return scale * (sum(steps) + 2 * plan.graphs.ring.latency_inter)


def within(plan: NodePlan, collective: Collective) -> Fullest:
    """The fullest links of a node for 1 GB/s that each rank sends, over the node's own links."""
    ranks = plan.system.ranks
    if collective is Collective.ALL_TO_ALL:
        return of_steps(plan, (Step(source=a, target=b, gb_per_s=1 / plan.ranks) for a, b in permutations(ranks, 2)))
    if collective in (Collective.GATHER, Collective.SCATTER):
        root, *others = ranks
        pairs = [(a, root) if collective is Collective.GATHER else (root, a) for a in others]
        return of_steps(plan, (Step(source=a, target=b, gb_per_s=1 / plan.ranks) for a, b in pairs))
    ends = [*ranks, ranks[0]] if plan.nodes == 1 else ranks
    return of_steps(plan, (Step(source=a, target=b, gb_per_s=1.0) for a, b in pairwise(ends)))


def between(plan: NodePlan, collective: Collective) -> Fullest:
    """The fullest links for 1 GB/s that each rank sends, over the NICs."""
    return of_steps(plan, () if plan.nodes == 1 else _over_nics(plan, collective))


def _over_nics(plan: NodePlan, collective: Collective) -> Iterator[Step]:
    """Who sends to other nodes and receives from them: all, a root, or the last rank sends and the first receives."""
    sending, receiving, gb_per_s = _ends(plan, collective)
    for rank, net, share in _own_nics(plan, sending):
        yield Step(source=rank, target=net, gb_per_s=share * gb_per_s)
    for rank, net, share in _own_nics(plan, receiving):
        yield Step(source=net, target=rank, gb_per_s=share * gb_per_s)


def _ends(plan: NodePlan, collective: Collective) -> tuple[Sequence[Node], Sequence[Node], float]:
    """The ranks that send to other nodes, those that receive from them, and GB/s of each of these."""
    ranks, root, each = plan.system.ranks, plan.system.ranks[:1], (plan.nodes - 1) / plan.nodes
    return {
        Collective.ALL_TO_ALL: (ranks, ranks, each),
        Collective.GATHER: ((), root, each),
        Collective.SCATTER: (root, (), each),
    }.get(collective, (ranks[-1:], ranks[:1], 1.0))


def _own_nics(plan: NodePlan, ranks: Iterable[Node]) -> Iterator[tuple[Node, Node, float]]:
    """Each rank with its NICs, and the share of its traffic on each."""
    for rank in ranks:
        nets = plan.table.local_nets(rank) if rank.id in plan.table.kept else [_nearest(plan, rank)]
        yield from ((rank, plan.far.get(net.id, net), 1 / len(nets)) for net in nets)


def _nearest(plan: NodePlan, rank: Node) -> Node:
    return max(plan.system.nets, key=lambda net: plan.table.get(rank.id, net.id).gb_per_s)


def limiting_cable(plan: NodePlan, collective: Collective) -> LimitingCable | None:
    """The cable that limits; None where cables are not known, and for a root, whose own NICs do."""
    if plan.nodes == 1 or collective not in (Collective.ALL_TO_ALL, Collective.SEND_RECV):
        return None
    return plan.fabric.pair_cable(plan.nodes, _sent(plan, collective), to_all=collective is Collective.ALL_TO_ALL)


def _sent(plan: NodePlan, collective: Collective) -> Sent:
    """What a node sends by each of its ranks' NICs: messages leave on the rail by which they are received."""
    _, receiving, gb_per_s = _ends(plan, collective)
    found = {dev_number(net): 0.0 for _, net, _ in _own_nics(plan, plan.system.ranks)}
    for _, net, share in _own_nics(plan, receiving):
        found[dev_number(net)] += share * gb_per_s
    return tuple(sorted(found.items()))


def spine_share(plan: NodePlan, collective: Collective) -> float:
    """The share of the speed between nodes that the fabric leaves: its cables, or the spines."""
    cable = limiting_cable(plan, collective)
    if cable is not None:
        sends = sum(gb_per_s for _, gb_per_s in _sent(plan, collective))
        return min(1.0, between(plan, collective).share * cable.allows / sends)
    return plan.fabric.spine_share(upward(plan)) if collective is Collective.ALL_TO_ALL else 1.0


def upward(plan: NodePlan) -> float:
    """The share of a node's outgoing traffic that crosses the spines."""
    return max(0, plan.nodes - plan.nodes_per_leaf) / max(1, plan.nodes - 1)
