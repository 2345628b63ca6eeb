# SPDX-License-Identifier: Apache-2.0
"""What NCCL would choose and reach for the recorded operations on a machine, and what bounds it."""

from dataclasses import dataclass, replace
from functools import cache

from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import Error, UsageError
from railgauge.topo.jobs.bill.placement import Placement, machine_of, placement
from railgauge.topo.jobs.recordings.job import CommunicatorRanks
from railgauge.topo.jobs.recordings.usage import UsageRow
from railgauge.topo.jobs.traces.trace import TracedGroup
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.forecast import ForecastRow, forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.planned import planned
from railgauge.topo.predict.release import known_release
from railgauge.topo.predict.search import search


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasted:
    """The forecast of an operation; bound: GB/s of bus bandwidth that rings cannot exceed, None unknown."""

    row: ForecastRow
    bound_gb_per_s: float | None


class JobForecasts:
    """Forecasts for the communicators of a job on equal machines of this kind."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._plan = cache(self._planned)
        self._bound = cache(self._bounded)

    def of(self, communicator: CommunicatorRanks, row: UsageRow) -> Forecasted | None:
        """The forecast of a row; None for messages and unknown types. Error if the machine cannot have made it."""
        if row.collective is None or not row.bytes or row.collective.in_pairs or communicator.size < 2:
            return None
        where = self._place(communicator)
        settings = settings_of(communicator)
        plan = replace(self._plan(where, settings, _nccl(communicator)), datatype=row.dtype)
        found = forecast(plan, row.collective, [row.bytes], read_allowed(dict(settings)), nccl_rows).rows[0]
        return Forecasted(row=found, bound_gb_per_s=self._bound(where))

    def nics(self, communicator: CommunicatorRanks, channel: int) -> tuple[str, ...]:
        """The NICs of a channel by its plan, by name; () for one node, or if it has none."""
        from railgauge.topo.nccl.graph.ends import names_of

        try:
            plan = self._plan(self._place(communicator), settings_of(communicator), _nccl(communicator))
        except Error:
            return ()
        channels = plan.graphs.ring.channels
        nets = channels[channel % len(channels)].nets if channels else ()
        return tuple(dict.fromkeys(names_of(net)[-1] for net in plan.system.nets if net.dev in nets))

    def _place(self, communicator: CommunicatorRanks) -> Placement:
        per_node = len(self._machine.system.gpus)
        if not per_node:
            raise UsageError("the machine has no GPU")
        hosts = len(communicator.hosts)
        if len(communicator.ranks) == communicator.size and communicator.size % hosts == 0:
            each = communicator.size // hosts
            if each > per_node:
                raise UsageError(f"{each} ranks a host, and the machine has {per_node} GPUs")
            return Placement(hosts, tuple(range(each)))
        group = TracedGroup(name=communicator.id, size=communicator.size)
        return placement(group, per_node, -(-communicator.size // per_node))

    def _planned(self, where: Placement, settings: tuple[tuple[str, str], ...], release: str) -> NodePlan:
        used = machine_of(self._machine, where.gpus)
        return planned(used, where.nodes, dict(settings), known_release(release or None))

    def _bounded(self, where: Placement) -> float | None:
        used = machine_of(self._machine, where.gpus)
        graph = search(used.system, nodes=where.nodes, policy=Policy.BEST, denied=used.denied).ring
        return graph.bound.gb_per_s if graph.bound else None


def settings_of(communicator: CommunicatorRanks) -> tuple[tuple[str, str], ...]:
    """The settings of NCCL that its first rank read; () if its NCCL does not tell them."""
    first = communicator.ranks[min(communicator.ranks)].recording
    known = {one.name: one.value for one in first.variables or () if one.value}
    return tuple(sorted((name, value) for name, value in known.items() if value is not None))


def _nccl(communicator: CommunicatorRanks) -> str:
    return communicator.ranks[min(communicator.ranks)].recording.nccl
