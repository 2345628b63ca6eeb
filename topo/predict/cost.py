# SPDX-License-Identifier: Apache-2.0
"""The time of a collective: latency by NCCL's model, transfer by what the channels pass; both calibrated."""

from dataclasses import dataclass

from railgauge.topo.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration, nccl_constants
from railgauge.topo.predict.nccl_model import estimate, ring_steps, tree_share
from railgauge.topo.predict.network import far_us
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import Plan

RING, TREE = Algorithm.RING, Algorithm.TREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Microseconds that pass whatever the size, and those that the bytes take."""

    latency_us: float
    transfer_us: float

    @property
    def time_us(self) -> float:
        """Both together."""
        return self.latency_us + self.transfer_us


def cost(passing: Passing, collective: Collective, size: int, algorithm: Algorithm, protocol: Protocol) -> Cost:
    """The time of `size` bytes (nccl-tests' count) with a ring or tree and a protocol."""
    plan = passing.plan
    if plan.on_host:
        return _host_cost(passing, collective, size)
    times = 2 if algorithm is TREE else ring_steps(collective, plan.ranks) / plan.ranks
    bandwidth = passing.gb_per_s(algorithm, protocol) / times * calibration.EFFICIENCY[protocol]
    if algorithm is TREE:
        bandwidth *= tree_share(size, protocol)
    steps = estimate(plan, collective, algorithm, protocol).latency_us * calibration.STEP_SCALE[protocol]
    latency = steps + launch_us(plan) + far_us(plan, collective, algorithm)
    return Cost(latency_us=latency, transfer_us=size / (1e3 * bandwidth))


def launch_us(plan: Plan) -> float:
    """What the start of an operation costs; a thread that drives several GPUs starts them one after the other."""
    return calibration.LAUNCH_US + calibration.LAUNCH_NEXT_US * (plan.per_thread - 1)


def _host_cost(passing: Passing, collective: Collective, size: int) -> Cost:
    """Of railgauge's own ring; the bandwidth is the planned one."""
    plan = passing.plan
    steps = ring_steps(collective, plan.ranks)
    crossing = 0 if plan.nodes == 1 else plan.nodes - 1
    crossing *= 2 if collective is Collective.ALL_REDUCE else 1
    over_net = nccl_constants.STEP_US["NET"][RING][nccl_constants.ORDER.index(Protocol.SIMPLE)]
    latency = (steps - crossing) * calibration.HOST_STEP_US + crossing * (over_net + plan.graphs.ring.latency_inter)
    bandwidth = passing.channels(RING) * plan.ranks / steps
    return Cost(latency_us=latency + far_us(plan, collective, RING), transfer_us=size / (1e3 * bandwidth))
