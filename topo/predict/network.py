# SPDX-License-Identifier: Apache-2.0
"""The effect of the fabric on channels: which of them cross the spines, and the time that takes."""

from railgauge.topo.channels.graph import Graph
from railgauge.topo.channels.limiting_cable import LimitingCable
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict.fabric import FabricKind
from railgauge.topo.predict.plan import NodePlan

TREES = (Algorithm.TREE, Algorithm.NVLS_TREE, Algorithm.PAT)
BY_HEADS = (Algorithm.NVLS_TREE, Algorithm.NVLS, Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN)
"""Each head has its own NIC and keeps to its rail."""


def upward(plan: NodePlan, algorithm: Algorithm) -> float:
    """The share of a leaf's traffic that goes on to the spines.

    A ring in node order leaves a leaf once for all its nodes; a binary tree's upper edges do so about twice. With rails
    a channel that enters by one NIC and leaves by another crosses at every node, unless `keeps_rails`.
    """
    below = plan.nodes_per_leaf
    near = 0.0 if plan.nodes <= below else min(1.0, (2 if algorithm in TREES else 1) / below)
    graph = plan.graph(algorithm)
    if algorithm in BY_HEADS:
        return near
    if plan.fabric.kind is not FabricKind.RAIL or keeps_rails(graph):
        return near
    return max(near, sum(len(set(channel.nets)) > 1 for channel in graph.channels) / len(graph.channels))


def keeps_rails(graph: Graph) -> bool:
    """Whether channels are mirrored in pairs: NCCL swaps them on every other node, so that each hop stays on its rail
    (crossNic 2; `ncclTopoPostset`, src/graph/connect.cc).
    """
    nets = [channel.nets for channel in graph.channels]
    return (
        graph.cross_nic == 2
        and len(nets) % 2 == 0
        and all(a == b[::-1] for a, b in zip(nets[::2], nets[1::2], strict=True))
    )


def limiting_cable(plan: NodePlan, algorithm: Algorithm) -> LimitingCable | None:
    """The cable that limits an algorithm's channels; None where cables are not known, or channels stay in a node."""
    nets = tuple(channel.nets for channel in plan.graph(algorithm).channels)
    if plan.nodes == 1 or not all(nets):
        return None
    if algorithm in BY_HEADS or keeps_rails(plan.graph(algorithm)):
        nets = tuple((pair[-1], pair[-1]) for pair in nets)
    return plan.fabric.cable(plan.nodes, nets, trees=algorithm in TREES)


def spine_share(plan: NodePlan, algorithm: Algorithm) -> float:
    """The share of their speed that channels keep in the fabric: by its cables, or by what spines have for leaves."""
    if plan.nodes == 1:
        return 1.0
    graph, cable = plan.graph(algorithm), limiting_cable(plan, algorithm)
    if cable is None:
        return plan.fabric.spine_share(upward(plan, algorithm))
    return min(1.0, cable.allows / (len(graph.channels) * graph.gb_per_s_inter))


def far_us(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> float:
    """The latency in us that switches above the leaves add to steps across them."""
    leaves = -(-plan.nodes // plan.nodes_per_leaf)
    if leaves == 1:
        return 0.0
    crossings = (leaves - 1).bit_length() if algorithm in TREES else 1 if algorithm in BY_HEADS else leaves - 1
    both_ways = 2 if collective is Collective.ALL_REDUCE else 1
    return both_ways * crossings * plan.fabric.far_us(plan.nics, plan.nodes)
