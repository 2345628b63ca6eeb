# SPDX-License-Identifier: Apache-2.0
"""A table while its lines are read."""

import re
from dataclasses import dataclass, field, fields

from railgauge.topo.jobs.tables.table import MeasuredTable, Program, RankDevice, TableRow
from railgauge.topo.nccl.settings.algorithm import Collective

MOST_ROWS = 1 << 14
MOST_DEVICES = 1 << 14
MOST_TABLES = 1 << 12
MOST_IN_ALL = 1 << 18
"""Rows and devices of all tables of a program: a quarter of a GB."""
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
AROUND_NAME = re.compile(r"^(?:osu|nccl|rccl)_|(?:_test)?_perf.*|_base$|_single$")


def collective_named(name: str) -> Collective | None:
    """The collective of a name in any program's spelling: all_reduce_perf, AllReduce, all_gather_base, osu_bcast."""
    bare = AROUND_NAME.sub("", name.lower())
    return COLLECTIVES.get(bare.replace("_", "").replace("-", "").replace(" ", ""))


@dataclass(slots=True)
class Room:
    """How many rows and devices are still kept."""

    left: int = MOST_IN_ALL


@dataclass(slots=True)
class DraftTable:
    """The fields of a MeasuredTable as they are found."""

    program: Program
    line: int
    room: Room = field(default_factory=Room)
    release: str = ""
    library: str = ""
    test: str = ""
    collective: Collective | None = None
    ranks: int = 0
    nodes: int = 0
    devices: list[RankDevice] = field(default_factory=list)
    per_thread: int | None = None
    symmetric: bool = False
    zero_cta: bool = False
    iterations: int | None = None
    warmup: int | None = None
    checked: bool | None = None
    average_busbw_gb_per_s: float | None = None
    rows: list[TableRow] = field(default_factory=list)
    complete: bool = False
    out_of_bounds: int | None = None
    cpu_time: bool = False
    groups: int = 1
    copies: int = 1
    directions: int = 1
    sizes_are_shares: bool = False
    gpu_memory: bool | None = None
    nic: str = ""
    qps: int | None = None
    sum_gb_per_s: float | None = None
    detail: str = ""
    left_out: int = 0
    words: tuple[str, ...] = ()
    """The columns before the figures: they tell the test where nothing names it."""

    def add(self, row: TableRow) -> None:
        """Take in a row; those beyond the most are counted."""
        if len(self.rows) < MOST_ROWS and self.room.left > 0:
            self.room.left -= 1
            self.rows.append(row)
        else:
            self.left_out += 1

    def table(self) -> MeasuredTable:
        """The table as found."""
        values = {one.name: getattr(self, one.name) for one in fields(MeasuredTable)}
        return MeasuredTable(**{**values, "devices": tuple(self.devices), "rows": tuple(self.rows)})


class Drafts:
    """The tables of one program, as many as are kept."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.room = Room()
        self.all: list[DraftTable] = []

    def begin(self, line: int) -> DraftTable:
        """A new table."""
        draft = DraftTable(self.program, line, self.room)
        if len(self.all) < MOST_TABLES:
            self.all.append(draft)
        return draft

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        return [draft.table() for draft in self.all if draft.rows]
