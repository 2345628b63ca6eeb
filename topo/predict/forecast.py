# SPDX-License-Identifier: Apache-2.0
"""The rows of a prediction: for each size the time, bandwidths, algorithm, and bottleneck."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import Allowed
from railgauge.topo.predict import copy_engines, symmetric
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.limit import CollectiveLimits, Limit
from railgauge.topo.predict.nccl_cost import cost
from railgauge.topo.predict.nccl_model import channels_used, combinations, fastest
from railgauge.topo.predict.pairs import pair_cost
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
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

    plan: NodePlan
    collective: Collective
    rows: tuple[ForecastRow, ...]


Model: TypeAlias = Callable[[CollectiveLimits, Collective, Allowed], Callable[[int], ForecastRow]]
"""A model: from a plan's limits, a collective and the allowed algorithms, the row of each size in bytes."""


def forecast(plan: NodePlan, collective: Collective, sizes: Iterable[int], allowed: Allowed, model: Model) -> Forecast:
    """Predict each size by a model.

    UnavailableError for one rank alone, and for host ranks with NCCL's model; UsageError if the settings allow nothing.
    """
    if plan.ranks < 2:
        raise UnavailableError("one rank alone exchanges nothing: use --nodes 2, or a machine with more ranks")
    row = model(CollectiveLimits(Passing(plan), collective), collective, allowed)
    return Forecast(plan=plan, collective=collective, rows=tuple(row(size) for size in sizes))


def nccl_rows(limits: CollectiveLimits, collective: Collective, allowed: Allowed) -> Callable[[int], ForecastRow]:
    """The model of GPUs: what NCCL chooses."""
    passing = limits.passing
    plan = passing.plan
    if plan.on_host:
        raise UnavailableError("NCCL's model has no ranks in host memory")

    among = [] if collective.in_pairs else combinations(plan, collective, allowed)

    windows = symmetric.may_run(plan, collective)

    def row(size: int) -> ForecastRow:
        if why := copy_engines.why(plan, collective, size):
            raise UnavailableError(f"NCCL runs {collective} by copy engines here ({why}), which are not modelled")
        if windows:
            kernel = symmetric.chosen(plan, collective, size)
            found = symmetric.cost(plan, collective, size, kernel)
            return made(size, found, kernel.algorithm, kernel.protocol, kernel.blocks)
        algorithm, protocol = _chosen(plan, collective, size, among)
        if algorithm is Algorithm.DIRECT:
            found, channels = pair_cost(plan, collective, size), len(plan.graphs.ring.channels)
        else:
            found = cost(passing, collective, size, algorithm, protocol)
            channels = channels_used(plan, size, algorithm, protocol)
        return made(size, found, algorithm, protocol, channels)

    def made(size: int, found: Cost, algorithm: Algorithm, protocol: Protocol, channels: int) -> ForecastRow:
        return ForecastRow(
            size=size,
            cost=found,
            busbw_gb_per_s=size / found.time_us / 1e3 * collective.factor(plan.ranks),
            algorithm=algorithm,
            protocol=protocol,
            channels=channels,
            limit=limits.of(found, algorithm, protocol),
        )

    return row


def _chosen(
    plan: NodePlan, collective: Collective, size: int, among: list[tuple[Algorithm, Protocol]]
) -> tuple[Algorithm, Protocol]:
    """NCCL's choice."""
    if collective.in_pairs:
        return Algorithm.DIRECT, Protocol.SIMPLE
    choice = fastest(plan, collective, size, among)
    if choice is None:
        raise UsageError(
            f"NCCL_ALGO and NCCL_PROTO allow nothing that is modelled for {collective}: "
            "ring (tree for all_reduce) with LL, LL128 or Simple; NVLS, PAT or CollNet with Simple where NCCL has it"
        )
    return choice.algorithm, choice.protocol
