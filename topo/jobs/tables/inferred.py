# SPDX-License-Identifier: Apache-2.0
"""What a table of nccl-tests without the name of its test measured: its columns, its factor and its counts tell."""

from railgauge.topo.jobs.tables.draft import DraftTable
from railgauge.topo.jobs.tables.table import TableRow
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.dtype_bytes import DTYPE_BYTES

LEAST_GB_PER_S = 1.0
"""From which a ratio of bandwidths with two decimals is exact enough."""
EXACT = 0.02
WITH_OPERATION = (Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER)
WITH_ROOT = (Collective.BROADCAST, Collective.REDUCE, Collective.GATHER, Collective.SCATTER)


def inferred_collective(draft: DraftTable) -> Collective | None:
    """The one collective that has these columns and this factor of the bus bandwidth; None if several have them."""
    if not draft.rows:
        return None
    row = draft.rows[-1]
    operates = row.redop not in ("", "none")
    rooted = row.root is not None and row.root >= 0
    factor = _factor(draft.rows)
    fitting = {
        one
        for one in Collective
        if operates == (one in WITH_OPERATION) and rooted == (one in WITH_ROOT) and _fits(one, factor, draft.ranks)
    }
    if not fitting and operates and not rooted:
        return _by_count(draft, row)
    if fitting == {Collective.ALL_GATHER, Collective.ALL_TO_ALL}:
        return _gathers_or_exchanges(draft, row)
    return fitting.pop() if len(fitting) == 1 else None


def _by_count(draft: DraftTable, row: TableRow) -> Collective | None:
    """Of those with an operation and no root: the count is that of all elements, or of one rank's share. For bandwidths
    that are too small to tell, and for a busbw that only repeats algbw.
    """
    width = DTYPE_BYTES.get(row.dtype, 0)
    if draft.ranks < 2 or not width or not row.count:
        return None
    return {1: Collective.ALL_REDUCE, draft.ranks: Collective.REDUCE_SCATTER}.get(row.size // (width * row.count))


def _factor(rows: list[TableRow]) -> float | None:
    """Bus bandwidth over algorithm bandwidth, of the last row that shows it."""
    for row in reversed(rows):
        for way in filter(None, (row.in_place, row.out_of_place)):
            if way.algbw_gb_per_s and way.busbw_gb_per_s and way.algbw_gb_per_s >= LEAST_GB_PER_S:
                return way.busbw_gb_per_s / way.algbw_gb_per_s
    return None


def _gathers_or_exchanges(draft: DraftTable, row: TableRow) -> Collective | None:
    """Before 2.13 alltoall alone has a column redop that it leaves blank; later it is not checked in place."""
    if "root" not in draft.words and row.root is None:
        return Collective.ALL_TO_ALL if "redop" in draft.words else Collective.ALL_GATHER
    if row.in_place and row.out_of_place.wrong is not None:
        return Collective.ALL_TO_ALL if row.in_place.wrong is None else Collective.ALL_GATHER
    return None


def _fits(collective: Collective, factor: float | None, ranks: int) -> bool:
    """Whether a factor is a collective's; of an unknown number of ranks, whether it is that of any from 2 on."""
    if factor is None:
        return False
    low, high = (collective.factor(number) for number in ((ranks, ranks) if ranks > 1 else (2, 1 << 20)))
    return low - EXACT < factor < high + EXACT
