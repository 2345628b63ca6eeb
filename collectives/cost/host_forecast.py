# SPDX-License-Identifier: Apache-2.0
"""The rows of `graph predict` for ranks on host memory: by our own engine, which chooses by the same cost model."""

from collections.abc import Callable
from dataclasses import replace

from railgauge.collectives.cost import host_choice
from railgauge.collectives.cost.calibration import HOST_GB_PER_S
from railgauge.collectives.cost.host_cost import between_us, copying_us, host_cost, ll_up_to, moves_of
from railgauge.collectives.cost.host_ranks import HostMoves, HostRanks
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import Allowed
from railgauge.topo.predict import network, pairs
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.forecast import ForecastRow
from railgauge.topo.predict.limit import BANDWIDTH, LATENCY, CollectiveLimits, Limit, in_turn
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan


def host_rows(limits: CollectiveLimits, collective: Collective, allowed: Allowed) -> Callable[[int], ForecastRow]:
    """The model (topo/predict/forecast.py) of ranks on host memory."""
    plan, where = limits.passing.plan, host_ranks(limits.passing, collective)
    usable = tuple(host_choice.candidates(collective, allowed, [plan.per_node] * plan.nodes, trees=True))
    runs = host_choice.quickest_by_model(where, collective, usable)
    by_ll = allowed.protocol(collective, Protocol.LL, trusted=True)

    def row(size: int) -> ForecastRow:
        algorithm = host_choice.chosen(runs, size)
        is_short = algorithm is Algorithm.ONE_SHOT and size <= ll_up_to(collective, plan.ranks)
        found = host_cost(where, collective, algorithm, size)
        found = replace(found, latency_us=found.latency_us + switches_us(plan, collective, algorithm))
        channels = len(plan.graphs.ring.channels) if algorithm in (Algorithm.RING, Algorithm.TREE) else 1
        return ForecastRow(
            size=size,
            cost=found,
            busbw_gb_per_s=size / found.time_us / 1e3 * collective.factor(plan.ranks),
            algorithm=algorithm,
            protocol=Protocol.LL if is_short and by_ll else Protocol.SIMPLE,
            channels=host_choice.channels_used(size, channels),
            limit=_limit(limits, found, where, moves_of(where, collective, algorithm, size), collective, size),
        )

    return row


def host_ranks(passing: Passing, collective: Collective) -> HostRanks:
    """The ranks of a plan; unknown cores count as one for each rank."""
    plan, ring = passing.plan, Algorithm.RING
    spines = pairs.spine_share(plan, collective) if collective.in_pairs else network.spine_share(plan, ring)
    return HostRanks(
        ranks=plan.ranks,
        nodes=plan.nodes,
        cores=len({core for rank in plan.system.ranks for core in rank.cpus}) or plan.per_node,
        interfaces=len({channel.nets[-1] for channel in plan.graphs.ring.channels if channel.nets}) or 1,
        net_gb_per_s=min(passing.planned(ring, spines), passing.fullest(ring).gb_per_s),
    )


def switches_us(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> float:
    """The latency added by the switches above the leaves."""
    if algorithm in (Algorithm.RING, Algorithm.TREE):
        return network.far_us(plan, collective, algorithm)
    return plan.fabric.far_us(plan.nics, plan.nodes) if plan.nodes > plan.nodes_per_leaf else 0.0


def _limit(
    limits: CollectiveLimits, cost: Cost, where: HostRanks, moves: HostMoves, collective: Collective, size: int
) -> Limit:
    if cost.latency_us > cost.transfer_us:
        return Limit(by=LATENCY, what=in_turn(moves.steps))
    if between_us(where, moves, size) < copying_us(where, moves, size):
        return _cores(where, moves)
    return limits.of_pairs() if collective.in_pairs else limits.of_channels(Algorithm.RING, Protocol.SIMPLE)


def _cores(where: HostRanks, moves: HostMoves) -> Limit:
    share = f", which {where.turns} ranks share" if where.turns > 1 else ""
    what = f"a rank writes and reads {moves.passed:.3g} bytes for each byte, at {HOST_GB_PER_S:g} GB/s a core{share}"
    return Limit(by=BANDWIDTH, what=what, device="cores")
