# SPDX-License-Identifier: Apache-2.0
"""NVLS and NVLS tree: when NCCL has them, its own figures for them, and the time that they take.

NVLS is one node's; over several it needs a network that reduces (collnet.py). NVLS tree joins the heads of several
nodes by binary trees, up and down at once.
"""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict import calibration
from railgauge.topo.predict import nvls_constants as nvls
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.load import Fullest
from railgauge.topo.predict.nccl_constants import generation_of
from railgauge.topo.predict.network import spine_share
from railgauge.topo.predict.nvls_graph import NvlsGraph, fullest, fullest_to_nics, graph_of
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import since

NVLS, NVLS_TREE = Algorithm.NVLS, Algorithm.NVLS_TREE
WITH_NVLS = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


def may_run(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> bool:
    """Whether NCCL has it for a collective of the plan's type and operator (`ncclNvlsSupported`)."""
    known = (Collective.ALL_REDUCE,) if algorithm is NVLS_TREE or plan.nodes > 1 else WITH_NVLS
    reducible = collective is Collective.ALL_GATHER or plan.datatype in nvls.REDUCED.get(plan.redop, frozenset())
    offered = plan.nodes > 1 if algorithm is NVLS_TREE else plan.nodes == 1 or plan.steering.collnet
    return collective in known and reducible and offered and graph_of(plan) is not None


def nccl_gb_per_s(plan: NodePlan, graph: NvlsGraph, collective: Collective, algorithm: Algorithm) -> float:
    """NCCL's own figure of algorithm bandwidth (`ncclTopoTuneModel`), by which it chooses."""
    all_reduce, within, between = collective is Collective.ALL_REDUCE, graph.gb_per_s_intra, graph.gb_per_s_inter
    others = (plan.per_node - 1) / plan.per_node
    if plan.release < nvls.BY_LINKS:
        if algorithm is NVLS_TREE:
            return graph.heads * min(within, between if plan.nodes <= 2 else between / 2) * nvls.SHARE_BEFORE
        if all_reduce:
            return graph.heads * min(within, between) * nvls.SHARE_BEFORE
        return graph.heads * (min(within * others, between * 0.9) if plan.release >= nvls.LESS_WITHOUT_OWN else within)
    row = generation_of(plan.sms[0])
    each = within * nvls.EFFICIENCY[row] * (graph.heads - 1) / graph.heads * (2 if all_reduce else others)
    if algorithm is NVLS_TREE:
        few = plan.nodes <= 2
        each = min(each, between * (2 if few else 1), since(nvls.TREE_MOST, plan.release)[row][0 if few else 1])
    else:
        each = min(each, between)
    return graph.heads * each * (plan.ranks / (2 * (plan.ranks - 1)) if all_reduce else 1.0)


def nccl_latency_us(plan: NodePlan, algorithm: Algorithm) -> float:
    """NCCL's own figure of the latency; between nodes with the flush of received data."""
    within = since(nvls.WITHIN_US, plan.release)
    if plan.nodes == 1:
        return within
    flush = 2 * plan.graphs.ring.latency_inter
    if algorithm is NVLS_TREE:
        return within + 2 * tree_levels(plan) * (since(nvls.TREE_NET_US, plan.release) + flush)
    return within + nvls.NET_US + flush


def tree_levels(plan: NodePlan) -> int:
    """The steps from a leaf of a binary tree of the nodes to its root, as NCCL counts them."""
    return plan.nodes.bit_length() - 1


def slows_as_tree(plan: NodePlan, algorithm: Algorithm) -> bool:
    """Whether NCCL lessens the bandwidth of some sizes as it does for a tree."""
    blackwell = generation_of(plan.sms[0]) == 3 and plan.cpu_arch == "x86_64"
    return algorithm is NVLS_TREE and blackwell and plan.release >= nvls.AS_TREE


def channels(plan: NodePlan) -> int:
    """How many channels run, at any size; NCCL_MAX_NCHANNELS does not count (`nvlsChannels`)."""
    rows = nvls.CHANNELS if plan.nodes == 1 else nvls.CHANNELS_OF_NODES
    return since(rows, plan.release)[generation_of(plan.sms[0])]


def chunk_bytes(plan: NodePlan, graph: NvlsGraph, size: int) -> int:
    """The bytes of a chunk (`calcCollChunking`): smaller operations have smaller ones."""
    chunk = nvls.CHUNK_BYTES
    for rounds, smaller in nvls.SMALLER_CHUNKS:
        if size < rounds * graph.heads * channels(plan) * chunk:
            chunk = min(chunk, smaller)
    return chunk


def cost(plan: NodePlan, collective: Collective, size: int, algorithm: Algorithm) -> Cost:
    """The time of `size` bytes: at the speed of their chunks, and the rounds that fill the pipeline."""
    graph, several = existing(plan), plan.nodes > 1
    chunk = chunk_bytes(plan, graph, size)
    rounds = calibration.NVLS_TREE_ROUNDS if several else calibration.NVLS_ROUNDS
    filling = rounds * min(size, graph.heads * channels(plan) * chunk)
    moved = size / calibration.NVLS_CHUNK_SHARE.get(chunk, 1.0) + filling
    within = moved / (1e3 * gb_per_s_within(plan, graph, collective))
    latency = calibration.NVLS_US[generation_of(plan.sms[0])]
    if not several:
        return Cost(latency_us=latency, transfer_us=within)
    steps = 2 * tree_levels(plan) if algorithm is NVLS_TREE else 1
    between = size / (1e3 * gb_per_s_between(plan, graph, algorithm))
    return Cost(latency_us=latency + steps * calibration.NVLS_NET_US, transfer_us=max(within, between))


def gb_per_s_within(plan: NodePlan, graph: NvlsGraph, collective: Collective) -> float:
    """The algorithm bandwidth of large sizes within a node: a calibrated share of what the links pass."""
    beside = calibration.NVLS_TREE_EFFICIENCY if plan.nodes > 1 else 1.0
    return fullest(plan, graph, collective).gb_per_s * calibration.NVLS_EFFICIENCY[generation_of(plan.sms[0])] * beside


def gb_per_s_between(plan: NodePlan, graph: NvlsGraph, algorithm: Algorithm) -> float:
    """The same between nodes."""
    return to_nics(plan, graph, algorithm).gb_per_s * spine_share(plan, algorithm) * calibration.NVLS_NET_EFFICIENCY


def to_nics(plan: NodePlan, graph: NvlsGraph, algorithm: Algorithm) -> Fullest:
    """The fullest way to a NIC for 1 GB/s. A network that reduces, or a tree of two nodes, takes each part once; in a
    tree of more a node has two children and a parent in one half and a parent alone in the other, which is twice.
    """
    return fullest_to_nics(plan, graph, 2.0 if algorithm is NVLS_TREE and plan.nodes > 2 else 1.0)


def existing(plan: NodePlan) -> NvlsGraph:
    """The graph of a plan that has one."""
    graph = graph_of(plan)
    if graph is None:
        raise ValueError("NVLS where there is none")
    return graph
