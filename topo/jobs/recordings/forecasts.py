# SPDX-License-Identifier: Apache-2.0
"""What NCCL would choose and reach for the recorded operations on a machine, and what bounds it."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import Error, UsageError
from railgauge.topo.jobs.bill.placement import Placement, machine_of, placement
from railgauge.topo.jobs.recordings.job import CommunicatorRanks, RecordedJob
from railgauge.topo.jobs.recordings.machines import JobMachines
from railgauge.topo.jobs.recordings.usage import UsageRow
from railgauge.topo.jobs.traces.trace import TracedGroup
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.forecast import ForecastRow, forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.planned import planned
from railgauge.topo.predict.release import known_release
from railgauge.topo.predict.search import search

MOST_KINDS = 8
"""Kinds of a communicator's hosts that are forecast; a cluster has fewer, unless every node is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasted:
    """The forecast of an operation; bound: GB/s of bus bandwidth that rings cannot exceed, None unknown. Where hosts
    differ, it is of the slowest: host is that one ("" otherwise), and best_gb_per_s the forecast of the fastest.
    """

    row: ForecastRow
    bound_gb_per_s: float | None
    best_gb_per_s: float
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKind:
    """Hosts of a communicator with equal machines and ranks on the same GPUs, by the first of them."""

    host: str
    machine: Machine
    where: Placement


class JobForecasts:
    """Forecasts for the communicators of a job. A forecast is of equal nodes; of several kinds the slowest counts,
    since all others wait for it.
    """

    def __init__(self, machines: JobMachines) -> None:
        self._machines = machines
        self._plans: dict[Hashable, NodePlan] = {}
        self._bounds: dict[Hashable, float | None] = {}

    def of(self, communicator: CommunicatorRanks, row: UsageRow) -> Forecasted | None:
        """The forecast of a row; None for messages and unknown types. Error if the machines cannot have made it."""
        if row.collective is None or not row.bytes or row.collective.in_pairs or communicator.size < 2:
            return None
        kinds = self._kinds(communicator)
        allowed = read_allowed(dict(settings_of(communicator)))
        found = {}
        for kind in kinds:
            plan = replace(self._plan(kind, communicator), datatype=row.dtype)
            found[kind.host] = forecast(plan, row.collective, [row.bytes], allowed, nccl_rows).rows[0]
        slowest = max(kinds, key=lambda kind: found[kind.host].time_us)
        return Forecasted(
            row=found[slowest.host],
            bound_gb_per_s=self._bound(slowest),
            best_gb_per_s=max(one.busbw_gb_per_s for one in found.values()),
            host=slowest.host if len(kinds) > 1 else "",
        )

    def nics(self, communicator: CommunicatorRanks, channel: int, host: str) -> tuple[str, ...]:
        """The NICs of a channel by the plan of a host, by name; () for one node, or if it has none."""
        try:
            kind = next((one for one in self._kinds(communicator, (host,))), None)
            plan = self._plan(kind, communicator) if kind else None
        except Error:
            return ()
        channels = plan.graphs.ring.channels if plan else ()
        nets = channels[channel % len(channels)].nets if channels else ()
        return tuple(dict.fromkeys(names_of(net)[-1] for net in plan.system.nets if net.dev in nets)) if plan else ()

    def _kinds(self, communicator: CommunicatorRanks, hosts: tuple[str, ...] = ()) -> list[HostKind]:
        """Those of some hosts, else of all."""
        found: dict[tuple[int, Placement], HostKind] = {}
        for host in hosts or communicator.hosts:
            machine = self._machines.alike(host)
            where = _place(communicator, host, machine)
            found.setdefault((id(machine), where), HostKind(host=host, machine=machine, where=where))
        if len(found) > MOST_KINDS:
            raise UsageError(f"the hosts are of {len(found)} kinds; a forecast takes up to {MOST_KINDS}")
        return list(found.values())

    def _plan(self, kind: HostKind, communicator: CommunicatorRanks) -> NodePlan:
        settings, release = settings_of(communicator), _nccl(communicator)
        key = id(kind.machine), kind.where, settings, release
        if key not in self._plans:
            used = machine_of(kind.machine, kind.where.gpus)
            self._plans[key] = planned(used, kind.where.nodes, dict(settings), known_release(release or None))
        return self._plans[key]

    def _bound(self, kind: HostKind) -> float | None:
        key = id(kind.machine), kind.where
        if key not in self._bounds:
            used = machine_of(kind.machine, kind.where.gpus)
            graph = search(used.system, nodes=kind.where.nodes, policy=Policy.BEST, denied=used.denied).ring
            self._bounds[key] = graph.bound.gb_per_s if graph.bound else None
        return self._bounds[key]


def _place(communicator: CommunicatorRanks, host: str, machine: Machine) -> Placement:
    """The GPUs of a host's ranks: by their bus ids where the machine has these, else its first."""
    places = {gpu.bus_id: place for place, gpu in enumerate(machine.system.gpus)}
    if not places:
        raise UsageError("the machine has no GPU")
    hosts = len(communicator.hosts)
    if len(communicator.ranks) < communicator.size or communicator.size % hosts:
        group = TracedGroup(name=communicator.id, size=communicator.size)
        return placement(group, len(places), -(-communicator.size // len(places)))
    each = communicator.size // hosts
    if each > len(places):
        raise UsageError(f"{each} ranks a host, and the machine has {len(places)} GPUs")
    ids = [one.communicator.bus_id for one in communicator.ranks.values() if one.recording.host == host]
    known = sorted({places[one] for one in ids if one in places})
    return Placement(hosts, tuple(known) if len(known) == each else tuple(range(each)))


def elsewhere(job: RecordedJob, machines: JobMachines) -> list[str]:
    """What says that a machine is not that of a job, in words: GPUs that it does not have; [] for none."""
    found = []
    for recording in job.recordings:
        machine = machines.of(recording.host)
        known = {gpu.bus_id for gpu in machine.system.gpus} if machine else set()
        ids = (one.bus_id for one in recording.communicators if one.bus_id)
        found += [(bus_id, recording.title) for bus_id in dict.fromkeys(ids) if known and bus_id not in known]
    if not found:
        return []
    (bus_id, title), more = found[0], f" and {len(found) - 1} more" if len(found) > 1 else ""
    return [f"GPU {bus_id} of {title}{more} not on the machine of --from: forecasts are for its first GPUs"]


def settings_of(communicator: CommunicatorRanks) -> tuple[tuple[str, str], ...]:
    """The settings of NCCL that its first rank read; () if its NCCL does not tell them."""
    first = communicator.ranks[min(communicator.ranks)].recording
    known = {one.name: one.value for one in first.variables or () if one.value}
    return tuple(sorted((name, value) for name, value in known.items() if value is not None))


def _nccl(communicator: CommunicatorRanks) -> str:
    return communicator.ranks[min(communicator.ranks)].recording.nccl
