# SPDX-License-Identifier: Apache-2.0
"""What a table measured, as far as a forecast needs it: the collective, its sizes, and what the ranks ran on."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.pasted.gpu_models import of_product
from railgauge.topo.jobs.judge.curve import Sized
from railgauge.topo.jobs.judge.plans import Plans
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import find_end, names_of
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.forecast import ForecastRow, forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Release, parse_release
from railgauge.topo.values.printable import printable

NOTHING: Mapping[str, str] = {}
FLOAT = "float"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """`settings` of NCCL, as pairs, are those that the forecast assumes. `release` is None where it is unknown;
    `datatype` and `redop` have nccl-tests' names. `symmetric`: the buffers are in symmetric windows (-R 2). `hosts`: by
    name in the order of ranks, as far as the table names them.
    """

    collective: Collective
    sizes: tuple[int, ...]
    nodes: int
    settings: tuple[tuple[str, str], ...] = ()
    per_thread: int = 1
    release: Release | None = None
    datatype: str = FLOAT
    redop: str = "sum"
    symmetric: bool = False
    hosts: tuple[str, ...] = ()

    def plan(self, machine: Machine, changed: Mapping[str, str] = NOTHING, plans: Plans | None = None) -> NodePlan:
        """What NCCL would run, under further settings. `plans` holds earlier ones. Error if it finds no channels."""
        plan = (plans or Plans()).plan(machine, self.nodes, {**dict(self.settings), **changed}, self.release)
        return replace(
            plan, per_thread=self.per_thread, datatype=self.datatype, redop=self.redop, symmetric=self.symmetric
        )

    def predicted(
        self, machine: Machine, changed: Mapping[str, str] = NOTHING, plans: Plans | None = None
    ) -> dict[int, float]:
        """The forecast by size in GB/s of bus bandwidth. Error as above."""
        return self.predicted_by(self.plan(machine, changed, plans), changed)

    def predicted_by(self, plan: NodePlan, changed: Mapping[str, str] = NOTHING) -> dict[int, float]:
        """The same of a plan."""
        return {row.size: row.busbw_gb_per_s for row in self.rows(plan, changed)}

    def rows(self, plan: NodePlan, changed: Mapping[str, str] = NOTHING) -> tuple[ForecastRow, ...]:
        """The forecast of a plan by size, with what limits it."""
        allowed = read_allowed({**dict(self.settings), **changed})
        return forecast(plan, self.collective, list(self.sizes), allowed, nccl_rows).rows


def run_of(
    table: MeasuredTable,
    collective: Collective,
    curve: list[Sized],
    machine: Machine,
    nodes: int,
    settings: Mapping[str, str],
) -> MeasuredRun:
    """The run of a table of a collective on `nodes` equal machines; 0 takes what the table says of hosts or ranks."""
    gpus = max(1, len(machine.topology.gpus))
    kinds = {(row.dtype, row.redop) for row in table.rows if row.dtype}
    asked = {"NCCL_CTA_POLICY": "2"} if table.zero_cta else {}
    datatype, redop = kinds.pop() if len(kinds) == 1 else (FLOAT, "")
    return MeasuredRun(
        collective=collective,
        sizes=tuple(one.size for one in curve),
        nodes=nodes or table.nodes or max(1, table.ranks // gpus),
        settings=tuple(sorted({**asked, **settings}.items())),
        per_thread=table.per_thread or 1,
        release=_release(table.library),
        datatype=datatype,
        redop=redop if redop not in ("", "none") else "sum",
        symmetric=table.symmetric,
        hosts=tuple(dict.fromkeys(one.host for one in table.devices)),
    )


def _release(library: str) -> Release | None:
    try:
        return parse_release(library)
    except UsageError:
        return None


def check_same(table: MeasuredTable, machine: Machine, nodes: int) -> None:
    """Check that a table can be of so many such machines. UsageError: it cannot, and why."""
    gpus = len(machine.system.gpus)
    if table.nodes > 1 and nodes != table.nodes:
        raise UsageError(f"the table has {table.nodes} hosts, and {nodes} of the machine are assumed")
    if table.ranks > nodes * gpus:
        raise UsageError(f"the table has {table.ranks} ranks, and {nodes} x {gpus} GPUs are assumed: --nodes N")
    if table.ranks % nodes:
        raise UsageError(f"{table.ranks} ranks of the table do not spread evenly over {nodes} nodes")


def other_gpus(table: MeasuredTable, machine: Machine) -> str:
    """Why the table cannot be of a machine by the products that it names; "" if it can."""
    kinds = {gpu.sm for gpu in machine.system.gpus if gpu.sm}
    for name in sorted({one.gpu for one in table.devices}):
        known = of_product(name)
        if known and kinds and known[0] * 10 + known[1] not in kinds:
            return f"the table is of {printable(name)}, and the machine has GPUs of another kind"
    return ""


def of_all_ranks(table: MeasuredTable) -> MeasuredTable:
    """The table with sizes of all ranks, as nccl-tests counts those of gathers and scatters."""
    if not table.sizes_are_shares or table.ranks < 2:
        return table
    rows = tuple(replace(row, size=row.size * table.ranks) for row in table.rows)
    return replace(table, rows=rows, sizes_are_shares=False)


def unused_gpus(machine: Machine, table: MeasuredTable, nodes: int) -> tuple[str, ...]:
    """The GPUs that no rank had, by name: other than those that the table names, else than the first."""
    gpus = [names_of(gpu)[0] for gpu in machine.system.gpus]
    count = table.ranks // nodes
    if not 0 < count < len(gpus) or table.ranks % nodes:
        return ()
    named = {gpu for one in table.devices for gpu in _at(machine, one.bus_id)}
    kept = named if len(named) == count else gpus[:count]
    return tuple(name for name in gpus if name not in kept)


def _at(machine: Machine, bus_id: str) -> Iterator[str]:
    with suppress(UsageError):
        yield names_of(find_end(machine.system, bus_id if "." in bus_id else f"{bus_id}.0"))[0]
