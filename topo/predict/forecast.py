# SPDX-License-Identifier: Apache-2.0
"""The rows of a prediction: for each size the time, the bandwidths, what runs, and what limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.topo.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.predict.cost import Cost, cost
from railgauge.topo.predict.limit import Limit, Limits
from railgauge.topo.predict.nccl_model import channels_used, choose
from railgauge.topo.predict.pairs import pair_cost
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import Plan
from railgauge.topo.settings.algorithms import Allowed


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
    """Predict each size; UnavailableError for one rank alone, UsageError where the settings allow nothing."""
    if plan.ranks < 2:
        raise UnavailableError("one rank alone exchanges nothing: --nodes 2, or a machine with more ranks")
    passing = Passing(plan)
    limits = Limits(passing, collective)
    rows = tuple(_row(passing, collective, size, allowed, limits) for size in sizes)
    return Forecast(plan=plan, collective=collective, rows=rows)


def _row(passing: Passing, collective: Collective, size: int, allowed: Allowed, limits: Limits) -> Row:
    plan = passing.plan
    algorithm, protocol = _chosen(plan, collective, size, allowed)
    if algorithm is Algorithm.DIRECT:
        found, channels = pair_cost(plan, collective, size), len(plan.graphs.ring.channels)
    else:
        found = cost(passing, collective, size, algorithm, protocol)
        channels = _channels(plan, size, algorithm, protocol)
    return Row(
        size=size,
        cost=found,
        busbw_gb_per_s=size / found.time_us / 1e3 * collective.factor(plan.ranks),
        algorithm=algorithm,
        protocol=protocol,
        channels=channels,
        limit=limits.of(found, algorithm, protocol),
    )


def _chosen(plan: Plan, collective: Collective, size: int, allowed: Allowed) -> tuple[Algorithm, Protocol]:
    """What NCCL takes among GPUs; railgauge's own ranks on the host have the ring."""
    if collective.in_pairs:
        return Algorithm.DIRECT, Protocol.SIMPLE
    if plan.on_host:
        return Algorithm.RING, Protocol.SIMPLE
    choice = choose(plan, collective, size, allowed)
    if choice is None:
        raise UsageError(
            f"NCCL_ALGO and NCCL_PROTO leave {collective} nothing that is modelled: "
            "ring (and tree for all_reduce), with LL, LL128 or Simple"
        )
    return choice.algorithm, choice.protocol


def _channels(plan: Plan, size: int, algorithm: Algorithm, protocol: Protocol) -> int:
    return len(plan.graphs.ring.channels) if plan.on_host else channels_used(plan, size, algorithm, protocol)
