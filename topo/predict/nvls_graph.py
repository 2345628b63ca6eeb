# SPDX-License-Identifier: Apache-2.0
"""The heads of NVLS: GPUs that each hold a part of the data, for which NVSwitches multicast and reduce.

A head reads its part from every GPU at once, reduced on the way, and writes it to all at once. So of an all-reduce each
GPU sends and receives all data once and a head its part once more, (n + 1) / n of the bytes with n heads, where a ring
sends and receives nearly twice the bytes. Multicast itself is assumed where there are NVSwitches.
"""

from dataclasses import dataclass

from railgauge.topo.channels.load import Step
from railgauge.topo.nccl.graph.model import Link, Node, NodeKind
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict import nvls_constants as nvls
from railgauge.topo.predict.load import Fullest, fullest_of, of_steps
from railgauge.topo.predict.nccl_constants import generation_of
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import since

SWITCHED = "NVL"  # the type of paths between GPUs


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlsGraph:
    """What NCCL's search finds: the heads of a node, and GB/s of each among the GPUs and towards the other nodes.

    On one node the second only bounds NCCL's estimate.
    """

    heads: int
    gb_per_s_intra: float
    gb_per_s_inter: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadNic:
    """A GPU that can be a head on several nodes, its NIC, and what the way between them passes as planned."""

    gpu: Node
    net: Node
    gb_per_s: float


def graph_of(plan: NodePlan) -> NvlsGraph | None:
    """The heads; None where NCCL has no NVLS: settings, older GPUs or releases, no NVSwitch, P2P off, a split node."""
    if plan.on_host or not plan.steering.nvls or plan.release < nvls.FIRST or plan.parts > plan.nodes:
        return None
    if plan.nodes > 1 and not since(nvls.TREE_IN, plan.release):
        return None
    switched = plan.sms[0] >= nvls.LEAST_SM and plan.graphs.ring.type_intra == SWITCHED
    links = switch_links(plan)
    if not switched or plan.per_node < since(nvls.LEAST_GPUS, plan.release) or len(links) < 2 * plan.per_node:
        return None
    most = min(since(nvls.MOST_HEADS, plan.release), plan.per_node)
    return _searched(plan, most, min(link.gb_per_s for link in links))


def _searched(plan: NodePlan, most: int, link_gb_per_s: float) -> NvlsGraph | None:
    """`ncclTopoCompute` with the pattern NVLS: a head takes two shares of its GPU's links and one of every other's.

    On one node every GPU is a head. On several each needs a NIC; the most heads win, then the most bandwidth.
    """
    nics = [nic.gb_per_s for nic in head_nics(plan)]
    speeds = (nvls.SPEEDS_OF_NODES if plan.nodes > 1 else nvls.SPEEDS)[generation_of(plan.sms[0])]
    heads, best = 0, 0.0
    for speed in speeds:
        if best and speed <= nvls.STOP_AT * best:
            break
        count = min(most, int(link_gb_per_s / speed) - 1)
        if plan.nodes > 1:
            count = min(count, sum(one >= speed for one in nics))
        if (count == most or plan.nodes > 1) and (count > heads or count * speed > heads * best):
            heads, best = count, speed
    if heads < nvls.LEAST_HEADS:
        return None
    return NvlsGraph(heads=heads, gb_per_s_intra=best, gb_per_s_inter=_raised(speeds, best, sorted(nics)[-heads:]))


def _raised(speeds: tuple[float, ...], speed: float, nics: list[float]) -> float:
    """The speed towards the network, raised while the heads' NICs have it and it is less than twice the other."""
    most = 2 * speed
    for faster in (one for one in reversed(speeds) if one > speed):
        if speed >= most or (nics and nics[0] < faster):
            break
        speed = faster
    return speed


def head_nics(plan: NodePlan) -> list[HeadNic]:
    """Of several nodes the GPUs that can be heads, each with the fastest of the NICs that it is nearest to."""
    found: dict[str, HeadNic] = {}
    for net in plan.system.listed_nets if plan.nodes > 1 else ():
        gpu = plan.table.local_gpu(net)
        if gpu is None:
            continue
        speed = plan.table.get(gpu.id, net.id).gb_per_s
        if gpu.id not in found or speed > found[gpu.id].gb_per_s:
            found[gpu.id] = HeadNic(gpu=gpu, net=net, gb_per_s=speed)
    return list(found.values())


def switch_links(plan: NodePlan) -> list[Link]:
    """The links between GPUs and NVSwitches, each direction."""
    switches = {node.id for node in plan.system.kind(NodeKind.NVS)}
    return [link for link in plan.system.links if (link.source in switches) != (link.target in switches)]


def fullest(plan: NodePlan, graph: NvlsGraph, collective: Collective) -> Fullest:
    """The fullest links between GPUs and NVSwitches if the algorithm bandwidth is 1 GB/s."""
    each = 1 + 1 / graph.heads if collective is Collective.ALL_REDUCE else 1.0
    return fullest_of([(link, each / _speed(plan, link)) for link in switch_links(plan)])


def fullest_to_nics(plan: NodePlan, graph: NvlsGraph, times: float) -> Fullest:
    """The fullest links between heads and their NICs if each part crosses them `times` in each direction."""
    nics = sorted(head_nics(plan), key=lambda nic: -nic.gb_per_s)[: graph.heads]
    pairs = [(nic.gpu, plan.far.get(nic.net.id, nic.net)) for nic in nics]
    both = pairs, [(net, gpu) for gpu, net in pairs]
    each = times / graph.heads
    return of_steps(plan, (Step(source=a, target=b, gb_per_s=each) for pairs in both for a, b in pairs))


def _speed(plan: NodePlan, link: Link) -> float:
    return link.real_gb_per_s if plan.real else link.gb_per_s
