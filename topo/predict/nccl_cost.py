# SPDX-License-Identifier: Apache-2.0
"""The time of a collective of GPUs: latency by NCCL's model, transfer by the channels; both calibrated."""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration, nvls
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.nccl_model import estimate, generation, ring_steps, tree_share
from railgauge.topo.predict.network import far_us
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan

TREE, NVLS = Algorithm.TREE, Algorithm.NVLS


def cost(passing: Passing, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> Cost:
    """The time of `size` bytes (nccl-tests' count) with an algorithm and a protocol."""
    plan = passing.plan
    if algorithm is NVLS:
        return _nvls_cost(plan, size)
    times = 2 if algorithm is TREE else ring_steps(collective, plan.ranks) / plan.ranks
    bandwidth = passing.gb_per_s(algorithm, protocol) / times * calibration.EFFICIENCY[protocol]
    if algorithm is TREE:
        bandwidth *= tree_share(size, protocol)
    steps = estimate(plan, collective, algorithm, protocol).latency_us * calibration.STEP_SCALE[protocol]
    latency = steps + launch_us(plan) + far_us(plan, collective, algorithm)
    return Cost(latency_us=latency, transfer_us=size / (1e3 * bandwidth))


def _nvls_cost(plan: NodePlan, size: int) -> Cost:
    graph = nvls.graph_of(plan)
    if graph is None:
        raise ValueError("NVLS where there is none")
    latency = calibration.NVLS_US[generation(plan)] + launch_us(plan)
    return Cost(latency_us=latency, transfer_us=nvls.transfer_us(plan, graph, size))


def launch_us(plan: NodePlan) -> float:
    """The start-up time of an operation; a thread that drives several GPUs starts them one by one."""
    return calibration.LAUNCH_US + calibration.LAUNCH_NEXT_US * (plan.per_thread - 1)
