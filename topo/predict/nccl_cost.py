# SPDX-License-Identifier: Apache-2.0
"""The time of a collective of GPUs: latency by NCCL's model, transfer by the channels; both calibrated."""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.nccl_model import estimate, ring_steps, tree_share
from railgauge.topo.predict.network import far_us
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan

RING, TREE = Algorithm.RING, Algorithm.TREE


def cost(passing: Passing, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> Cost:
    """The time of `size` bytes (nccl-tests' count) with a ring or tree and a protocol."""
    plan = passing.plan
    times = 2 if algorithm is TREE else ring_steps(collective, plan.ranks) / plan.ranks
    bandwidth = passing.gb_per_s(algorithm, protocol) / times * calibration.EFFICIENCY[protocol]
    if algorithm is TREE:
        bandwidth *= tree_share(size, protocol)
    steps = estimate(plan, collective, algorithm, protocol).latency_us * calibration.STEP_SCALE[protocol]
    latency = steps + launch_us(plan) + far_us(plan, collective, algorithm)
    return Cost(latency_us=latency, transfer_us=size / (1e3 * bandwidth))


def launch_us(plan: NodePlan) -> float:
    """The start-up time of an operation; a thread that drives several GPUs starts them one by one."""
    return calibration.LAUNCH_US + calibration.LAUNCH_NEXT_US * (plan.per_thread - 1)
