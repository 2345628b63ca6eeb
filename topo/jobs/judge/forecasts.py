# SPDX-License-Identifier: Apache-2.0
"""Forecasts for one machine, as it should be and under each possible cause; each is made once, for a file has many
tables. What the node's rules find on the machine and can undo is undone, and then is one of the causes.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache

from railgauge.topo.channels.graph import Policy
from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import Error
from railgauge.topo.findings.node.effect import repaired
from railgauge.topo.findings.node.rules import repairs
from railgauge.topo.jobs.judge.curve import Sized, reached
from railgauge.topo.jobs.judge.job_fabric import JobFabric
from railgauge.topo.jobs.judge.measured_run import MeasuredRun
from railgauge.topo.jobs.judge.plans import Plans
from railgauge.topo.jobs.judge.possible_causes import OTHER_NUMA, PossibleCause, shares, variants
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.crossed import crossed
from railgauge.topo.predict.nvls_bound import nvls_found
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.search import search

BySize = Mapping[int, float]
SAME = 0.99
"""Share of a forecast that a fault has to leave to count as none."""


class Forecasts:
    """Bandwidths in GB/s of bus bandwidth, by size in bytes. Error where NCCL would find no channels."""

    def __init__(self, machine: Machine, fabric: JobFabric | None = None) -> None:
        self.machine = machine
        self._repairs = [one for one in repairs(machine) if not one.lost]  # jobs do without what is lost
        self._whole = repaired(machine, self._repairs) if self._repairs else machine
        self._fabric = fabric
        self._plans = Plans()
        self._variants: dict[tuple[object, ...], list[tuple[PossibleCause, Machine, Mapping[str, str]]]] = {}
        self.healthy = cache(self._healthy)
        self.bound = cache(self._bound)
        self.of_causes = cache(self._of_causes)
        self.without = cache(self._without)

    def _healthy(self, run: MeasuredRun) -> BySize:
        """What NCCL reaches on the machine as it should be."""
        return run.predicted(self._whole, plans=self._plans)

    def plan(self, run: MeasuredRun) -> NodePlan:
        """What NCCL runs on the machine as it should be."""
        return run.plan(self._whole, plans=self._plans)

    def _bound(self, run: MeasuredRun) -> float | None:
        """What neither rings and trees nor NVLS exceed. Between nodes an all-reduce by trees sends 2 (N - 1) / N of the
        data, where bus bandwidth counts as if each rank sent that.
        """
        machine = self._whole
        graph = search(machine.system, nodes=run.nodes, policy=Policy.BEST, denied=machine.denied).ring
        bounds = [graph.bound.gb_per_s] if graph.bound else []
        plan = self.plan(run)
        if bounds and run.collective is Collective.ALL_REDUCE and run.nodes > 1:
            bounds.append(bounds[0] * run.collective.factor(plan.ranks) * run.nodes / (2 * (run.nodes - 1)))
        if bounds and run.collective is Collective.ALL_REDUCE and (nvls := nvls_found(plan)):
            bounds.append(nvls[1].gb_per_s * run.collective.factor(plan.ranks))
        return max(bounds, default=None)

    def _of_causes(
        self, run: MeasuredRun, in_force: tuple[tuple[str, str], ...]
    ) -> tuple[tuple[PossibleCause, BySize], ...]:
        """Under each possible cause; the settings in force are one, and what is known of the fabric."""
        found: list[tuple[PossibleCause, BySize]] = []
        key = run.nodes, run.settings, run.release, in_force
        if key not in self._variants:  # kept, so that each machine is searched once for all tables
            self._variants[key] = list(variants(self._whole, self.plan(run), dict(in_force)))
        for cause, variant, changed in self._variants[key]:
            with suppress(Error):
                found.append((cause, run.predicted(variant, changed, self._plans)))
        if as_it_is := self._as_it_is(run):
            found.append((self._fault, as_it_is))
        far = crossed(self.plan(run)) if run.nodes > 1 else None
        if far is not None:
            found.append((OTHER_NUMA, run.predicted_by(far)))
        for cause, share in shares(self.plan(run)):
            found.append((cause, {size: share * by for size, by in self.healthy(run).items()}))
        with suppress(Error):
            found.extend(self._of_fabric(run))
        return tuple(found)

    def faulty(self, run: MeasuredRun) -> str:
        """What the machine's faults take of the forecast of the largest sizes, in words; "" for less than 1 %."""
        as_it_is = self._as_it_is(run)
        if as_it_is is None:
            return ""
        whole, now = (reached([Sized(size, by[size]) for size in run.sizes]) for by in (self.healthy(run), as_it_is))
        if now > SAME * whole:
            return ""
        return f"the forecast is of the machine as it should be; as it is, with {self._name}, {now:.4g} GB/s"

    def _as_it_is(self, run: MeasuredRun) -> BySize | None:
        """With the machine's faults; None without any, or where NCCL would find no channels."""
        with suppress(Error):
            return run.predicted(self.machine, plans=self._plans) if self._repairs else None
        return None

    @property
    def _fault(self) -> PossibleCause:
        """The machine as it is."""
        return PossibleCause(f"a fault of the machine: {self._name}", self._repairs[0].id, "railgauge check", seen=True)

    @property
    def _name(self) -> str:
        first, *others = self._repairs
        return f"{first.id} at {first.subject}" + (f" and {len(others)} more" if others else "")

    def _of_fabric(self, run: MeasuredRun) -> Iterator[tuple[PossibleCause, BySize]]:
        """With the network held to the fabric's cables, if these limit the largest size."""
        if self._fabric is not None and run.nodes > 1:
            plan = self._fabric.plan(self.plan(run), run.hosts)
            rows = run.rows(plan)
            if cause := self._fabric.cause(rows[-1]):
                yield cause, {row.size: row.busbw_gb_per_s for row in rows}

    def _without(self, gpus: tuple[str, ...]) -> "Forecasts":
        """Those of the machine without some GPUs."""
        if not gpus:
            return self
        return Forecasts(replace(self.machine, topology=edited(self.machine.running, (), gpus)), self._fabric)
