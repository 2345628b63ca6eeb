# SPDX-License-Identifier: Apache-2.0
"""What the cost model of host ranks (host_cost.py) takes of a plan."""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict import network, pairs
from railgauge.topo.predict.host_ranks import HostRanks
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import Plan


def host_ranks(passing: Passing, collective: Collective) -> HostRanks:
    """The ranks of a plan; cores that are not known are as many as ranks."""
    plan, ring = passing.plan, Algorithm.RING
    spines = pairs.spine_share(plan, collective) if collective.in_pairs else network.spine_share(plan, ring)
    return HostRanks(
        ranks=plan.ranks,
        nodes=plan.nodes,
        cores=len({core for rank in plan.system.ranks for core in rank.cpus}) or plan.per_node,
        interfaces=len({channel.nets[-1] for channel in plan.graphs.ring.channels if channel.nets}) or 1,
        net_gb_per_s=min(passing.planned(ring, spines), passing.fullest(ring).gb_per_s),
    )


def switches_us(plan: Plan, collective: Collective, algorithm: Algorithm) -> float:
    """What the switches above the leaves add."""
    if algorithm in (Algorithm.RING, Algorithm.TREE):
        return network.far_us(plan, collective, algorithm)
    return plan.fabric.far_us(plan.nics, plan.nodes) if plan.nodes > plan.nodes_per_leaf else 0.0
