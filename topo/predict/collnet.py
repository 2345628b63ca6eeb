# SPDX-License-Identifier: Apache-2.0
"""CollNet: a network that reduces (SHARP), through a plugin; NCCL's own figures for it, and the time that it takes.

Direct: each GPU exchanges with every head of its node over NVSwitches, and heads with the network. Chain: along a chain
of the node's GPUs and back. All-reduce alone: the other collectives need an extension of the plugin. No published
result is at hand, so that the time is NCCL's own figure. Source: src/graph/tuning.cc, NCCL v2.18.3-1 to v2.30.7-1.
"""

from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict.nvls_graph import head_nics
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Since, since

DIRECT, CHAIN = Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN
LEAST_NODES = 2  # NCCL_COLLNET_NODE_THRESHOLD
MOST_RANKS = 8  # of a node: NCCL_MAX_DIRECT_ARITY + 1
WITHIN_US: dict[Algorithm, Since[float]] = {
    DIRECT: (((2, 19, 3), 3.7), ((2, 18, 3), 8.0)),
    CHAIN: (((2, 19, 3), 2.8), ((2, 18, 3), 4.75)),
}
NET_US: dict[Algorithm, Since[float]] = {
    DIRECT: (((2, 19, 3), 31.0), ((2, 18, 3), 10.7)),
    CHAIN: (((2, 19, 3), 30.0), ((2, 18, 3), 14.0)),
}
PEER_US = 0.4
HOPPER_SHARE = 0.85


def may_run(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> bool:
    """Whether NCCL has it: the setting, NICs, and for the direct form NVSwitches."""
    if not plan.steering.collnet or collective is not Collective.ALL_REDUCE:
        return False
    switched = bool(plan.system.kind(NodeKind.NVS))
    enough = plan.nodes >= LEAST_NODES and plan.per_node <= MOST_RANKS and bool(head_nics(plan))
    return enough and (switched or algorithm is CHAIN)


def nccl_gb_per_s(plan: NodePlan, algorithm: Algorithm) -> float:
    """NCCL's own figure of algorithm bandwidth: the heads' NICs, less where a NIC is shared by several GPUs."""
    nics = head_nics(plan)
    found = len(nics) * min(nic.gb_per_s for nic in nics)
    if algorithm is DIRECT:
        gpus_a_nic = plan.per_node / len(nics)
        found /= (gpus_a_nic + 1) / 2
        found *= HOPPER_SHARE if plan.sms[0] >= 90 else 1.0
    return found / 2


def nccl_latency_us(plan: NodePlan, algorithm: Algorithm) -> float:
    """NCCL's own figure of the latency."""
    others = plan.per_node - 1
    step, net = since(WITHIN_US[algorithm], plan.release), since(NET_US[algorithm], plan.release)
    steps = min(1, others) * step + others * PEER_US if algorithm is DIRECT else others * step
    return 2 * steps + net + 2 * plan.graphs.ring.latency_inter
