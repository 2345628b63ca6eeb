# SPDX-License-Identifier: Apache-2.0
"""NVLS on one node: the switches multicast and reduce for heads, the GPUs that each hold a part of the data.

A head reads its part from every GPU at once, reduced on the way, and writes it to all at once. So of an all-reduce each
of n GPUs sends and receives its data once and its part once more, (n + 1) / n of the bytes, where a ring sends and
receives nearly twice the bytes.
"""

from dataclasses import dataclass

from railgauge.topo.nccl.graph.model import Link, NodeKind
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict import calibration
from railgauge.topo.predict import nvls_constants as nvls
from railgauge.topo.predict.load import Fullest, fullest_of
from railgauge.topo.predict.nccl_constants import generation_of
from railgauge.topo.predict.plan import NodePlan

WITH_NVLS = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlsGraph:
    """What NCCL's search finds: how many heads, GB/s of each as planned with, and the larger one it could still take.

    Within a node the second only bounds NCCL's estimate; from 2.28.3 on.
    """

    heads: int
    gb_per_s: float
    gb_per_s_most: float


def may_run(plan: NodePlan, collective: Collective) -> bool:
    """Whether NCCL has NVLS for a collective of the plan's type and operator. Multicast itself is assumed."""
    reducible = collective is Collective.ALL_GATHER or plan.datatype in nvls.REDUCED.get(plan.redop, frozenset())
    return collective in WITH_NVLS and reducible and graph_of(plan) is not None


def graph_of(plan: NodePlan) -> NvlsGraph | None:
    """The heads; None where NCCL has no NVLS: several nodes, settings, older GPUs or releases, no NVSwitch or P2P."""
    if plan.nodes > 1 or plan.parts > 1 or not plan.steering.nvls or plan.on_host or plan.release < nvls.FIRST:
        return None
    wired = plan.sms[0] >= nvls.LEAST_SM and plan.graphs.ring.type_intra == "NVL"
    if not wired or plan.per_node < nvls.since(nvls.LEAST_GPUS, plan.release):
        return None
    heads = min(nvls.since(nvls.MOST_HEADS, plan.release), plan.per_node)
    links = _links(plan)
    if heads < 2 or len(links) < 2 * plan.per_node:
        return None
    return _searched(plan, heads, min(link.gb_per_s for link in links))


def _searched(plan: NodePlan, heads: int, link_gb_per_s: float) -> NvlsGraph | None:
    """`ncclTopoCompute` with the pattern NVLS (src/graph/search.cc): a head takes two shares of its GPU's links and one
    of every other's; then its speed towards the network, which has no link here, is raised to twice that.
    """
    speeds = nvls.SPEEDS[generation_of(plan.sms[0])]
    speed = next((one for one in speeds if one * (heads + 1) <= link_gb_per_s), None)
    if speed is None:
        return None
    rising = [one for one in reversed(speeds) if one >= speed]
    most = next((one for one in rising if one >= 2 * speed), rising[-1])
    return NvlsGraph(heads=heads, gb_per_s=speed, gb_per_s_most=most)


def nccl_gb_per_s(plan: NodePlan, graph: NvlsGraph, collective: Collective) -> float:
    """NCCL's own figure of algorithm bandwidth (`ncclTopoTuneModel`, src/graph/tuning.cc), by which it chooses."""
    reduces_all = collective is Collective.ALL_REDUCE
    others = (plan.per_node - 1) / plan.per_node
    if plan.release < nvls.BY_LINKS and reduces_all:
        return graph.heads * graph.gb_per_s * nvls.SHARE_BEFORE
    if plan.release < nvls.BY_LINKS:
        less = plan.release >= nvls.LESS_WITHOUT_OWN
        return graph.heads * (min(graph.gb_per_s * others, graph.gb_per_s_most * 0.9) if less else graph.gb_per_s)
    each = graph.gb_per_s * nvls.EFFICIENCY[generation_of(plan.sms[0])] * (graph.heads - 1) / graph.heads
    each = min(each * (2 if reduces_all else others), graph.gb_per_s_most)
    return graph.heads * each * (plan.ranks / (2 * (plan.ranks - 1)) if reduces_all else 1.0)


def nccl_latency_us(plan: NodePlan) -> float:
    """NCCL's own figure of the latency."""
    return nvls.since(nvls.LATENCY_US, plan.release)


def channels(plan: NodePlan) -> int:
    """How many channels run, at any size (`nvlsChannels`)."""
    return nvls.since(nvls.CHANNELS, plan.release)[generation_of(plan.sms[0])]


def fullest(plan: NodePlan, graph: NvlsGraph) -> Fullest:
    """The fullest links between GPUs and NVSwitches if an all-reduce has an algorithm bandwidth of 1 GB/s."""
    each = 1 + 1 / graph.heads
    return fullest_of([(link, each / (link.real_gb_per_s if plan.real else link.gb_per_s)) for link in _links(plan)])


def gb_per_s(plan: NodePlan, graph: NvlsGraph) -> float:
    """The algorithm bandwidth of large sizes: a calibrated share of what the links pass."""
    return fullest(plan, graph).gb_per_s * calibration.NVLS_EFFICIENCY[generation_of(plan.sms[0])]


def transfer_us(plan: NodePlan, graph: NvlsGraph, size: int) -> float:
    """The time of the bytes: at the speed of their chunks, and the rounds that fill the pipeline, which is NVLS's size
    of chunks on all channels and heads.
    """
    chunk = chunk_bytes(plan, graph, size)
    filling = calibration.NVLS_ROUNDS * min(size, graph.heads * channels(plan) * chunk)
    return (size / calibration.NVLS_CHUNK_SHARE.get(chunk, 1.0) + filling) / (1e3 * gb_per_s(plan, graph))


def chunk_bytes(plan: NodePlan, graph: NvlsGraph, size: int) -> int:
    """The bytes of a chunk (`calcCollChunking`, src/enqueue.cc): smaller operations have smaller ones."""
    chunk = nvls.CHUNK_BYTES
    for rounds, smaller in nvls.SMALLER_CHUNKS:
        if size < rounds * graph.heads * channels(plan) * chunk:
            chunk = min(chunk, smaller)
    return chunk


def _links(plan: NodePlan) -> list[Link]:
    """The links between GPUs and NVSwitches, each direction."""
    switches = {node.id for node in plan.system.kind(NodeKind.NVS)}
    return [link for link in plan.system.links if (link.source in switches) != (link.target in switches)]
