# SPDX-License-Identifier: Apache-2.0
"""The rows of a prediction: for each size the time, bandwidths, algorithm, and bottleneck."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import Allowed
from railgauge.topo.predict import host_choice
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.host_cost import host_cost, ll_up_to
from railgauge.topo.predict.host_plan import host_ranks, switches_us
from railgauge.topo.predict.limit import Limit, Limits
from railgauge.topo.predict.nccl_cost import cost
from railgauge.topo.predict.nccl_model import channels_used, choose
from railgauge.topo.predict.pairs import pair_cost
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One size. algbw = bytes / time; busbw is that times the collective's factor."""

    size: int
    cost: Cost
    busbw_gb_per_s: float
    algorithm: Algorithm
    protocol: Protocol
    channels: int
    limit: Limit

    @property
    def time_us(self) -> float:
        """The time of one operation."""
        return self.cost.time_us

    @property
    def algbw_gb_per_s(self) -> float:
        """Bytes over time."""
        return self.size / self.time_us / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A prediction for each size."""

    plan: Plan
    collective: Collective
    rows: tuple[Row, ...]


def forecast(plan: Plan, collective: Collective, sizes: Iterable[int], allowed: Allowed) -> Forecast:
    """Predict each size; UnavailableError for one rank alone, UsageError if the settings allow nothing."""
    if plan.ranks < 2:
        raise UnavailableError("one rank alone exchanges nothing: use --nodes 2, or a machine with more ranks")
    passing = Passing(plan)
    limits = Limits(passing, collective)
    row = (_host_row if plan.on_host else _gpu_row)(passing, collective, allowed, limits)
    return Forecast(plan=plan, collective=collective, rows=tuple(row(size) for size in sizes))


def _host_row(passing: Passing, collective: Collective, allowed: Allowed, limits: Limits) -> Callable[[int], Row]:
    """Rows of ranks in host memory: railgauge's own engine, which chooses by the same model."""
    plan, where = passing.plan, host_ranks(passing, collective)
    usable = host_choice.candidates(collective, allowed, [plan.per_node] * plan.nodes, trees=True)
    runs = host_choice.quickest(host_choice.modelled(where, collective, usable))
    by_ll = allowed.protocol(collective, Protocol.LL, trusted=True)

    def row(size: int) -> Row:
        algorithm = host_choice.chosen(runs, size)
        is_short = algorithm is Algorithm.ONE_SHOT and size <= ll_up_to(collective, plan.ranks)
        found = host_cost(where, collective, algorithm, size)
        found = replace(found, latency_us=found.latency_us + switches_us(plan, collective, algorithm))
        channels = len(plan.graphs.ring.channels) if algorithm in (Algorithm.RING, Algorithm.TREE) else 1
        return Row(
            size=size,
            cost=found,
            busbw_gb_per_s=size / found.time_us / 1e3 * collective.factor(plan.ranks),
            algorithm=algorithm,
            protocol=Protocol.LL if is_short and by_ll else Protocol.SIMPLE,
            channels=host_choice.channels_used(size, channels),
            limit=limits.on_host(found, where, algorithm, size),
        )

    return row


def _gpu_row(passing: Passing, collective: Collective, allowed: Allowed, limits: Limits) -> Callable[[int], Row]:
    """Rows of GPUs: NCCL's choice."""
    plan = passing.plan

    def row(size: int) -> Row:
        algorithm, protocol = _chosen(plan, collective, size, allowed)
        if algorithm is Algorithm.DIRECT:
            found, channels = pair_cost(plan, collective, size), len(plan.graphs.ring.channels)
        else:
            found = cost(passing, collective, size, algorithm, protocol)
            channels = channels_used(plan, size, algorithm, protocol)
        return Row(
            size=size,
            cost=found,
            busbw_gb_per_s=size / found.time_us / 1e3 * collective.factor(plan.ranks),
            algorithm=algorithm,
            protocol=protocol,
            channels=channels,
            limit=limits.of(found, algorithm, protocol),
        )

    return row


def _chosen(plan: Plan, collective: Collective, size: int, allowed: Allowed) -> tuple[Algorithm, Protocol]:
    """NCCL's choice."""
    if collective.in_pairs:
        return Algorithm.DIRECT, Protocol.SIMPLE
    choice = choose(plan, collective, size, allowed)
    if choice is None:
        raise UsageError(
            f"NCCL_ALGO and NCCL_PROTO allow nothing that is modelled for {collective}: "
            "ring (and tree for all_reduce), with LL, LL128 or Simple"
        )
    return choice.algorithm, choice.protocol
