# SPDX-License-Identifier: Apache-2.0
"""NCCL's own model: a latency and a bandwidth for each collective, algorithm and protocol, and the choice by them.

Follows `ncclTopoTuneModel` and `ncclTopoGetAlgoTime` (src/graph/tuning.cc) and `ncclGetAlgoInfo` (src/enqueue.cc) of
the plan's release: ring and tree here, and the others in nvls.py, collnet.py and pat.py.
"""

from dataclasses import dataclass

from railgauge.topo.channels.executed import executed
from railgauge.topo.channels.graph import Graph
from railgauge.topo.nccl.graph.model import PATH_TYPES
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import Allowed
from railgauge.topo.predict import collnet, nvls, pat
from railgauge.topo.predict import nccl_constants as nccl
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Since, since

RING, TREE = Algorithm.RING, Algorithm.TREE
NVLS, NVLS_TREE, PAT = Algorithm.NVLS, Algorithm.NVLS_TREE, Algorithm.PAT
COLLNET = (Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN)
ORDER = (TREE, RING, *COLLNET, NVLS, NVLS_TREE, PAT)  # NCCL's, in which the first of equals wins
LL, LL128, SIMPLE = Protocol.LL, Protocol.LL128, Protocol.SIMPLE
WITH_TREE = (Collective.ALL_REDUCE,)
FROM_ONE = (Collective.BROADCAST, Collective.REDUCE)
COUNTED_SIZES = 23  # of nccl_constants.TREE_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What NCCL thinks: time = latency_us + bytes / gb_per_s (algorithm bandwidth)."""

    latency_us: float
    gb_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmChoice:
    """An algorithm and protocol, and the time NCCL estimates for it."""

    algorithm: Algorithm
    protocol: Protocol
    time_us: float


def estimate(plan: NodePlan, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> Estimate:
    """Latency and bandwidth of one combination, for a size that does not count (`nccl_time_us` has the sizes)."""
    if algorithm in (NVLS, NVLS_TREE):
        bandwidth = nvls.nccl_gb_per_s(plan, nvls.existing(plan), collective, algorithm)
        return Estimate(latency_us=nvls.nccl_latency_us(plan, algorithm), gb_per_s=bandwidth)
    if algorithm in COLLNET:
        bandwidth = collnet.nccl_gb_per_s(plan, algorithm)
        return Estimate(latency_us=collnet.nccl_latency_us(plan, algorithm), gb_per_s=bandwidth)
    bandwidth = bus_gb_per_s(plan, RING if algorithm is PAT else algorithm, protocol)
    if algorithm is PAT:
        return Estimate(latency_us=pat.nccl_latency_us(plan), gb_per_s=bandwidth * pat.share(plan))
    ratio = plan.ranks / ring_steps(collective, plan.ranks) if algorithm is RING else 0.5
    row = nccl.ORDER.index(protocol)
    latency = nccl.base_us(algorithm, row, plan.release) + _steps_us(plan, collective, algorithm, protocol)
    return Estimate(latency_us=latency, gb_per_s=bandwidth * ratio)


def ring_steps(collective: Collective, ranks: int) -> int:
    """How many steps a ring takes one after the other."""
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks if collective in FROM_ONE else ranks - 1


def combinations(plan: NodePlan, collective: Collective, allowed: Allowed) -> list[tuple[Algorithm, Protocol]]:
    """The algorithms and protocols that may be used."""
    return [
        (algorithm, protocol)
        for algorithm in ORDER
        if may_run(plan, collective, algorithm)
        for protocol in (nccl.ORDER if algorithm in (RING, TREE) else (SIMPLE,))
        if allowed.algorithm(collective, algorithm)
        and allowed.protocol(collective, protocol, trusted=ll128_is_trusted(plan, algorithm))
    ]


def may_run(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> bool:
    """Whether NCCL has an algorithm for a collective on these nodes."""
    if algorithm in (NVLS, NVLS_TREE):
        return nvls.may_run(plan, collective, algorithm)
    if algorithm in COLLNET:
        return collnet.may_run(plan, collective, algorithm)
    if algorithm is PAT:
        return pat.may_run(plan, collective)
    return algorithm is RING or collective in WITH_TREE


def choose(plan: NodePlan, collective: Collective, size: int, allowed: Allowed) -> AlgorithmChoice | None:
    """The combination that NCCL thinks fastest, the first among equals; None when none is allowed."""
    return fastest(plan, collective, size, combinations(plan, collective, allowed))


def fastest(
    plan: NodePlan, collective: Collective, size: int, among: list[tuple[Algorithm, Protocol]]
) -> AlgorithmChoice | None:
    """The same among some combinations."""
    choices = [
        AlgorithmChoice(
            algorithm=algorithm, protocol=protocol, time_us=nccl_time_us(plan, collective, size, algorithm, protocol)
        )
        for algorithm, protocol in among
    ]
    return min(choices, key=lambda one: one.time_us, default=None)


def nccl_time_us(plan: NodePlan, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> float:
    """NCCL's estimate for a size in bytes (`ncclTopoGetAlgoTime`)."""
    found = estimate(plan, collective, algorithm, protocol)
    latency, bandwidth = found.latency_us, found.gb_per_s
    if algorithm is TREE or nvls.slows_as_tree(plan, algorithm):
        bandwidth *= tree_share(size, protocol)
    elif algorithm is RING and protocol is SIMPLE and plan.nodes > 1 and collective is Collective.ALL_REDUCE:
        each = size / (channels_most(plan) * plan.ranks)
        latency *= nccl.RING_PLATEAU[plan.sms[0] >= nccl.GENERATIONS[0]] if each >= nccl.PLATEAU_BYTES else 1.0
    return latency + size / (1e3 * bandwidth)


def tree_share(size: int, protocol: Protocol) -> float:
    """What a tree reaches of its bandwidth at a size."""
    power = (size >> 6).bit_length() - 1
    return nccl.TREE_SHARE[protocol][power] if 0 <= power < COUNTED_SIZES else 1.0


def channels_most(plan: NodePlan) -> int:
    """The channels that NCCL runs at most."""
    ring, tree = plan.graphs.ring, plan.graphs.tree
    found, fast = min(len(ring.channels), len(tree.channels)), ring.gb_per_s_intra
    return len(executed(found, plan.steering, nodes=plan.nodes, least_sm=plan.sms[0], gb_per_s_intra=fast))


def channels_used(plan: NodePlan, size: int, algorithm: Algorithm, protocol: Protocol) -> int:
    """The channels that NCCL runs for a size: fewer where the threads of all would have too little to do."""
    if algorithm in (NVLS, NVLS_TREE):
        return nvls.channels(plan)
    if algorithm in COLLNET:
        return channels_most(plan)
    threads = nccl.MOST_THREADS[protocol]
    ring = plan.graphs.ring
    if (algorithm, protocol) == (RING, SIMPLE) and len(ring.channels) * ring.gb_per_s_intra <= nccl.PCI_GB_PER_S:
        threads = nccl.THREADS_OVER_PCI
    least = threads * nccl.BYTES_A_THREAD[protocol] * (plan.ranks if (algorithm, protocol) == (RING, LL) else 1)
    return max(1, min(channels_most(plan), size // least))


def ll128_is_trusted(plan: NodePlan, algorithm: Algorithm) -> bool:
    """Whether NCCL uses LL128 unasked: NVLink within, NICs near; equal GPUs from Volta on, or any from Hopper on (until
    2.29 only equal ones).
    """
    low, high = plan.sms
    graph = plan.graph(algorithm)
    furthest = PATH_TYPES.index("PXN" if low >= 90 else "PXB")
    near = PATH_TYPES.index(graph.type_inter) <= furthest and PATH_TYPES.index(graph.type_intra) <= 2
    return near and low >= 70 and (low == high or low >= 90)


def bus_gb_per_s(plan: NodePlan, algorithm: Algorithm, protocol: Protocol) -> float:
    """What NCCL thinks that all channels pass on together with a protocol."""
    graph = plan.graph(algorithm)
    count = len(graph.channels)
    whole = count * (graph.gb_per_s_intra if plan.nodes <= 2 else graph.gb_per_s_inter)
    if algorithm is RING:
        return _ring_gb_per_s(plan, protocol, whole, count)
    tree = min(whole * 0.92, count * _most(plan, nccl.TREE_MOST))
    if protocol is LL:
        tree = min(tree / 3.8, most_ll(plan))
    elif protocol is LL128:
        tree = min(tree * (7 / 9 if plan.nodes == 1 else 120 / 128), count * _most(plan, nccl.TREE_LL128_MOST))
    return tree * 0.85 if plan.plain_tree else tree


def _ring_gb_per_s(plan: NodePlan, protocol: Protocol, whole: float, count: int) -> float:
    if protocol is LL:
        return min(most_ll(plan), whole * since(nccl.RING_LL_SHARE, plan.release))
    if protocol is LL128:
        return min(whole * 0.92, count * _most(plan, nccl.RING_LL128_MOST))
    return whole


def _most(plan: NodePlan, table: Since[nccl.Most]) -> float:
    return nccl.most(table, plan.release, generation(plan), plan.nodes)


def most_ll(plan: NodePlan) -> float:
    """LL depends on the GPU on one node, on the CPU on several."""
    row = generation(plan) if plan.nodes == 1 else int(plan.cpu_vendor == "AuthenticAMD")
    return nccl.most(nccl.LL_MOST, plan.release, row, plan.nodes)


def generation(plan: NodePlan) -> int:
    """The row of the GPUs' generation in the tables of nccl_constants."""
    return nccl.generation_of(plan.sms[0])


def _steps_us(plan: NodePlan, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> float:
    """The latency of all steps, one after the other."""
    graph, row = plan.graph(algorithm), nccl.ORDER.index(protocol)
    within = nccl.step_us(_wires(graph), algorithm, row, plan.release)
    if algorithm is TREE and protocol is SIMPLE and plan.cpu_arch == "ppc64" and _wires(graph) == "PCI":
        within = nccl.step_us("PCI", RING, row, plan.release)
    between = _between_us(plan, graph, algorithm, row)
    if algorithm is TREE:
        return 2 * ((plan.per_node - 1) * within + (plan.nodes.bit_length() - 1) * between)
    steps = ring_steps(collective, plan.ranks)
    if collective in FROM_ONE:
        return _from_one_us(plan, graph, row, steps)
    crossing = 0 if plan.nodes == 1 else plan.nodes - 1
    crossing *= 2 if collective is Collective.ALL_REDUCE else 1
    if plan.nodes > 1:
        overhead = nccl.NET_OVERHEAD_US.get(plan.cpu_vendor, nccl.NET_OVERHEAD_ELSE_US)
        within = max(within, overhead * (3 if protocol is SIMPLE else 1))
    return (steps - crossing) * within + crossing * between


def _from_one_us(plan: NodePlan, graph: Graph, row: int, steps: int) -> float:
    wires = _wires(graph) if plan.nodes == 1 else "NET"
    if graph.same_channels:
        return nccl.step_us(wires, RING, row, plan.release)
    algorithm = TREE if nccl.ORDER[row] is SIMPLE else RING
    return steps * nccl.step_us(wires, algorithm, row, plan.release)


def _between_us(plan: NodePlan, graph: Graph, algorithm: Algorithm, row: int) -> float:
    """A step from node to node; with one rank a node nothing hides it, and it counts as a tree's."""
    alone = plan.per_node == 1
    flush = 2 if nccl.ORDER[row] is SIMPLE else 1
    return nccl.step_us("NET", TREE if alone else algorithm, row, plan.release) + flush * graph.latency_inter


def _wires(graph: Graph) -> str:
    return "NVLINK" if graph.type_intra == "NVL" else "PCI"
