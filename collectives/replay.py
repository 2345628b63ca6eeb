# SPDX-License-Identifier: Apache-2.0
"""Replays the operations of a job's trace: in order, with their sizes and types, each over the ranks of its group.

Each operation starts once all ranks of its group are there, so that its time has no wait for a late rank in it, and is
verified on fresh data. The first of its kind is run before, untimed (-w).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from railgauge._native import collectives as native
from railgauge.collectives.bench import Bench
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.operation import REDUCING, ROOTED, WHOLE
from railgauge.topo.errors import UsageError
from railgauge.topo.jobs.traces.trace import TracedOperation
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.group import Group

MOST_GROUPS = 256
"""Each has a communicator, buffers and connections of its own."""
BARRIER, PART = 1 << 20, (1 << 20) + 1
"""Numbers of the groups whose ranks wait for each other, and of those that communicators are made of."""
DTYPES = {dtype.label: dtype for dtype in Dtype}
REDOPS = {op.label: op for op in Redop}

Ranks = tuple[int, ...]
BenchOf = Callable[[Ranks, int], Bench | None]
"""The bench of a group, for so many bytes; None on a rank outside it. All ranks of the job call it, in one order."""


@dataclass(frozen=True, slots=True)
class ReplayedKind:
    """What equal operations have in common; `ranks` are those of the group in the job."""

    case: OperationCase
    ranks: Ranks


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRow:
    """Equal operations of one group, in us: the mean of all their runs and ranks beside the forecast, and the time in
    the trace, None where it has none.
    """

    collective: str
    bytes: int
    count: int
    dtype: str
    redop: str
    root: int
    ranks: list[int]
    times: int
    time_us: float
    busbw_gb_per_s: float
    wrong: int | None
    forecast_us: float | None
    traced_us: float | None


@dataclass(slots=True)
class _Sum:
    """One rank's runs of a kind."""

    times: int = 0
    seconds: float = 0.0
    wrong: int = 0
    predicted_busbw: float = 0.0


def ranks_of(operation: TracedOperation) -> Ranks:
    """The group's ranks; the first ones of the job where the trace does not have them."""
    return operation.group.ranks or tuple(range(operation.group.size))


def ranks_needed(operations: Iterable[TracedOperation]) -> int:
    """How many ranks a replay needs."""
    return max(max(ranks_of(one)) for one in operations) + 1


def kind_of(operation: TracedOperation) -> ReplayedKind:
    """Its kind, with NCCL's count: of a part where there are parts, rounded up."""
    ranks = ranks_of(operation)
    whole = operation.collective in WHOLE
    case = OperationCase(
        collective=operation.collective,
        count=operation.elements if whole else -(-operation.elements // len(ranks)),
        dtype=DTYPES[operation.dtype],
        op=REDOPS[operation.redop],
        root=operation.root,
    )
    return ReplayedKind(case, ranks)


def largest_of(kinds: Iterable[ReplayedKind], ranks: Ranks) -> int:
    """Bytes of the largest operation of a group; 0 without one."""
    return max((kind.case.bytes(len(ranks)) for kind in kinds if kind.ranks == ranks), default=0)


class Replay:
    """One rank's replay; all ranks of the job make it, with the same operations."""

    def __init__(self, operations: Sequence[TracedOperation], bootstrap: Bootstrap, bench_of: BenchOf) -> None:
        """Connect all groups.

        Raises:
            UsageError: the job has too few ranks, or the trace too many groups. Others as those of `bench_of`.
        """
        self._bootstrap = bootstrap
        self._operations, self._kinds = operations, [kind_of(one) for one in operations]
        if (need := ranks_needed(operations)) > bootstrap.world_size:
            raise UsageError(f"--trace has {need} ranks, this run {bootstrap.world_size}: use --ranks {need}")
        groups = list(dict.fromkeys(kind.ranks for kind in self._kinds))
        if len(groups) > MOST_GROUPS:
            raise UsageError(f"--trace has {len(groups)} groups of ranks: at most {MOST_GROUPS} can be replayed")
        self._benches: dict[Ranks, tuple[Bench, Group]] = {}
        for ranks in groups:
            bench = bench_of(ranks, largest_of(self._kinds, ranks))
            if bench:
                self._benches[ranks] = bench, bootstrap.subgroup(ranks, BARRIER)
        self.first_wrong: str | None = None

    def run(self, *, warmup: int, check: bool) -> list[ReplayRow]:
        """Run all operations; the rows of all ranks. `check`: verify each of them.

        Raises:
            RunError: as the operations.
        """
        sums: dict[int, _Sum] = {}
        places = {kind: place for place, kind in reversed(list(enumerate(self._kinds)))}
        for number, kind in enumerate(self._kinds):
            if kind.ranks in self._benches:
                self._one(kind, sums.setdefault(places[kind], _Sum()), number, warmup, check=check)
        mine = [(place, one.times, one.seconds, one.wrong, one.predicted_busbw) for place, one in sums.items()]
        told = self._bootstrap.all_gather([mine, self.first_wrong], tuple[list[_Told], str | None])
        self.first_wrong = next((first for _, first in told if first), None)
        by_place: dict[int, list[_Told]] = {}
        for sent, _ in told:
            for one in sent:
                by_place.setdefault(one[0], []).append(one)
        return [self._row(place, by_place[place], check=check) for place in sorted(by_place)]

    def _one(self, kind: ReplayedKind, into: _Sum, seed: int, warmup: int, *, check: bool) -> None:
        bench, group = self._benches[kind.ranks]
        case = kind.case
        pattern = native.Pattern(bench.size, case.dtype, case.op, seed, PatternKind.EXACT)
        if not into.times and warmup:
            bench.fill(case, pattern, in_place=False)
            bench.repeat(case, in_place=False, times=warmup)
        bench.fill(case, pattern, in_place=False)
        group.barrier()
        into.seconds += bench.repeat(case, in_place=False)
        into.times += 1
        into.predicted_busbw = into.predicted_busbw or bench.ran(case).predicted_busbw_gb_per_s
        if check:
            verdict = bench.verify(case, pattern, PatternKind.EXACT, in_place=False)
            into.wrong += verdict.wrong
            if verdict.wrong and self.first_wrong is None:
                rank = self._bootstrap.rank
                self.first_wrong = (
                    f"operation {seed + 1} of the trace, {case.collective} ({case}) of {len(kind.ranks)} ranks: rank "
                    f"{rank}: {verdict.wrong} elements wrong: {verdict}"
                )

    def _row(self, place: int, told: "list[_Told]", *, check: bool) -> ReplayRow:
        kind = self._kinds[place]
        case, ranks = kind.case, len(kind.ranks)
        times = max(one[1] for one in told)
        us = sum(one[2] for one in told) / sum(one[1] for one in told) * 1e6
        size = case.bytes(ranks)
        factor = case.collective.factor(ranks)
        predicted = max(one[4] for one in told)
        known = [
            one.measured_us
            for one, other in zip(self._operations, self._kinds, strict=True)
            if other == kind and one.measured_us is not None
        ]
        return ReplayRow(
            collective=str(case.collective),
            bytes=size,
            count=case.count,
            dtype=case.dtype.label,
            redop=case.op.label if case.collective in REDUCING else "none",
            root=case.root if case.collective in ROOTED else -1,
            ranks=list(kind.ranks),
            times=times,
            time_us=us,
            busbw_gb_per_s=size / us / 1e3 * factor if us else 0.0,
            wrong=sum(one[3] for one in told) if check else None,
            forecast_us=size * factor / predicted / 1e3 if predicted else None,
            traced_us=sum(known) / len(known) if known else None,
        )


_Told = tuple[int, int, float, int, float]
"""What a rank reports of a kind: the place of its first operation, how often it ran, seconds of all runs, wrong
elements, and the predicted bus bandwidth in GB/s."""
