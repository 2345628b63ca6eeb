# SPDX-License-Identifier: Apache-2.0
"""PAT: parallel aggregated trees between nodes, for all_gather and reduce_scatter with one rank a node.

Source: src/graph/tuning.cc of NCCL v2.23.4-1 to v2.30.7-1 (`ncclPatEnable`, `ncclTopoTuneModel`), src/enqueue.cc.
"""

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.steering import PAT_IF_ALONE
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Release, Since, since

FIRST: Release = (2, 23, 4)
LEAST_SM = 60
BASE_US: Since[float] = (((2, 28, 3), 8.0), (FIRST, 0.0))
NET_US: Since[float] = (((2, 28, 3), 14.0), (FIRST, 0.0))
OVERLAPPING = 3.5  # steps between nodes at once
RANK_US = 2.8
SHARE: Since[float] = (((2, 24, 3), 0.75), (FIRST, 0.85))  # of the bandwidth of a ring
NOT_REDUCED = ("avg",)


def may_run(plan: NodePlan, collective: Collective) -> bool:
    """Whether NCCL has it: by the setting, as a rule with one rank a node alone."""
    wanted = plan.per_node == 1 if plan.steering.pat == PAT_IF_ALONE else plan.steering.pat == 1
    offered = plan.release >= FIRST and plan.nodes > 1 and plan.sms[0] >= LEAST_SM
    reduced = collective is Collective.REDUCE_SCATTER and plan.redop not in NOT_REDUCED
    return wanted and offered and (reduced or collective is Collective.ALL_GATHER)


def nccl_latency_us(plan: NodePlan) -> float:
    """NCCL's own figure of the latency: logarithmic in the nodes, with a linear part."""
    between = since(NET_US, plan.release) + 2 * plan.graphs.ring.latency_inter
    levels = plan.nodes.bit_length() - 1
    return since(BASE_US, plan.release) + levels * between / OVERLAPPING + plan.ranks * RANK_US


def share(plan: NodePlan) -> float:
    """The bandwidth as a share of a ring's."""
    return since(SHARE, plan.release)
