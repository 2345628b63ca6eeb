# SPDX-License-Identifier: Apache-2.0
"""The time of a collective of GPUs: latency by NCCL's model, transfer by the channels; both calibrated."""

from dataclasses import replace

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration, nvls, pat
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.nccl_model import (
    COLLNET,
    NVLS,
    NVLS_TREE,
    PAT,
    RING,
    TREE,
    estimate,
    generation,
    ring_steps,
    tree_share,
)
from railgauge.topo.predict.network import far_us
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan


def cost(passing: Passing, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> Cost:
    """The time of `size` bytes (nccl-tests' count) with an algorithm and a protocol."""
    found = _cost(passing, collective, size, algorithm, protocol)
    more = launch_us(passing.plan) + far_us(passing.plan, collective, algorithm)
    return replace(found, latency_us=found.latency_us + more)


def _cost(passing: Passing, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> Cost:
    """The same from the start on, below one switch."""
    plan = passing.plan
    if algorithm in (NVLS, NVLS_TREE):
        return nvls.cost(plan, collective, size, algorithm)
    model = estimate(plan, collective, algorithm, protocol)
    row = generation(plan)
    latency = model.latency_us * calibration.STEP_SCALE[protocol][row]
    if algorithm in COLLNET:
        return Cost(latency_us=latency, transfer_us=size / (1e3 * model.gb_per_s))
    times = 2 if algorithm is TREE else ring_steps(collective, plan.ranks) / plan.ranks
    passed = passing.gb_per_s(RING if algorithm is PAT else algorithm, protocol)
    bandwidth = passed / times * calibration.EFFICIENCY[protocol][row]
    if algorithm is TREE and plan.ranks > 2:  # two ranks have no chain to fill
        bandwidth *= tree_share(size, protocol)
    elif algorithm is PAT:
        bandwidth *= pat.share(plan)
    return Cost(latency_us=latency, transfer_us=size / (1e3 * bandwidth))


def launch_us(plan: NodePlan) -> float:
    """The start-up time of an operation; a thread that drives several GPUs starts them one by one."""
    return calibration.LAUNCH_US + calibration.LAUNCH_NEXT_US * (plan.per_thread - 1)
