# SPDX-License-Identifier: Apache-2.0
"""A table while its lines are read."""

from dataclasses import dataclass, field, fields

from railgauge.topo.jobs.tables.table import MeasuredTable, Program, RankDevice, TableRow
from railgauge.topo.nccl.settings.algorithm import Collective

MOST_ROWS = 1 << 14
MOST_DEVICES = 1 << 14
MOST_TABLES = 1 << 12
COLLECTIVES = {
    "allreduce": Collective.ALL_REDUCE,
    "allgather": Collective.ALL_GATHER,
    "reducescatter": Collective.REDUCE_SCATTER,
    "broadcast": Collective.BROADCAST,
    "bcast": Collective.BROADCAST,
    "reduce": Collective.REDUCE,
    "alltoall": Collective.ALL_TO_ALL,
    "gather": Collective.GATHER,
    "scatter": Collective.SCATTER,
    "sendrecv": Collective.SEND_RECV,
}


def collective_named(name: str) -> Collective | None:
    """The collective of a name in any program's spelling: all_reduce_perf, AllReduce, ReduceScatter, bcast."""
    return COLLECTIVES.get(name.lower().removesuffix("_perf").replace("_", "").replace("-", ""))


@dataclass(slots=True)
class DraftTable:
    """The fields of a MeasuredTable as they are found."""

    program: Program
    line: int
    release: str = ""
    library: str = ""
    test: str = ""
    collective: Collective | None = None
    ranks: int = 0
    nodes: int = 0
    devices: list[RankDevice] = field(default_factory=list)
    per_thread: int | None = None
    iterations: int | None = None
    warmup: int | None = None
    checked: bool | None = None
    average_busbw_gb_per_s: float | None = None
    rows: list[TableRow] = field(default_factory=list)
    complete: bool = False
    out_of_bounds: int | None = None
    cpu_time: bool = False
    groups: int = 1
    words: tuple[str, ...] = ()
    """The columns before the figures: they tell the test where nothing names it."""

    def add(self, row: TableRow) -> None:
        """Take in a row; those beyond the most are dropped, and the table is incomplete."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append(row)

    def table(self) -> MeasuredTable:
        """The table as found."""
        values = {one.name: getattr(self, one.name) for one in fields(MeasuredTable)}
        return MeasuredTable(**{**values, "devices": tuple(self.devices), "rows": tuple(self.rows)})
