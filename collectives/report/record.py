# SPDX-License-Identifier: Apache-2.0
"""A flight record as text: how the run ended, the state of each rank, and the last operations of all, side by side."""

import time
from collections.abc import Iterator

from railgauge.collectives.record import Record
from railgauge.topo.values.printable import one_line
from railgauge.transports.picture import RankStates, describe, details, draw, name_operation, parting
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.standing import Operation, Standing, current

SHOWN = 12
"""How many of the last operations of a communicator are shown."""


def record_text(record: Record) -> str:
    """The whole record as text."""
    return "\n".join([*_head(record), "", *_ranks(record), *_histories(record)])


def _head(record: Record) -> Iterator[str]:
    command = one_line(" ".join(record.command))
    yield f"{record.ranks} ranks, rank 0 on {one_line(record.host)}, {one_line(record.time)}: railgauge {command}"
    yield f"ended: {one_line(record.error) if record.error else 'as planned'}"
    for line in (parting(record.standings), draw(RankStates(record.standings))):
        if line and line not in (record.error or ""):
            yield f"stood: {line}"


def _ranks(record: Record) -> Iterator[str]:
    width = len(str(record.ranks - 1))
    for rank in range(record.ranks):
        found = current(record.standings.get(rank, []))
        place = "could not be reached" if rank in record.missing else _place(found)
        yield f"rank {rank:{width}}  {place}"


def _place(standing: Standing | None) -> str:
    if standing is None or not standing.operations:
        return "had called no collective"
    last = standing.operations[-1]
    told = f"{name_operation(standing, last)} {details(last)}, {_how(last)}, begun {_clock(last.began_s)}"
    if not standing.running:
        return f"in no collective; last: {told}"
    return f"in {told}{_waits(standing)}"


def _waits(standing: Standing) -> str:
    on = standing.blocked_on
    if on.rank < 0:
        return ""
    where = f"on channel {on.channel}" if on.channel >= 0 else "in shared memory"
    return f": waits {where} at step {on.step} for {'a free slot of' if on.frees_slot else 'data from'} rank {on.rank}"


def _histories(record: Record) -> Iterator[str]:
    groups: dict[int, list[int]] = {}
    for standing in (each for some in record.standings.values() for each in some):
        groups.setdefault(standing.communicator, standing.ranks)
    for communicator, ranks in sorted(groups.items()):
        yield ""
        yield f"last operations among {name_ranks(ranks)}:"
        yield from _history(record, communicator)


def _history(record: Record, communicator: int) -> Iterator[str]:
    calls: dict[tuple[int, str], list[tuple[int, Operation]]] = {}
    for rank, some in sorted(record.standings.items()):
        for standing in some:
            if standing.communicator == communicator:
                for each in standing.operations:
                    calls.setdefault((each.number, describe(each)), []).append((rank, each))
    last = max((number for number, _ in calls), default=0)
    width = len(f"#{last}")
    for (number, what), called in sorted(calls.items()):
        if number > last - SHOWN:
            began = _clock(min(each.began_s for _, each in called))
            yield f"  {f'#{number}':{width}}  {began}  {what}, {_how(called[0][1])}: {'; '.join(_times(called))}"


def _times(called: list[tuple[int, Operation]]) -> Iterator[str]:
    """Which ranks finished, after how long, and which did not."""
    over = [(each.took_us, rank) for rank, each in called if each.is_over]
    timed = [one for one in over if one[0] > 0]
    if over:
        yield f"{name_ranks(rank for _, rank in over)} done{_spread(timed)}"
    if len(over) < len(called):
        yield f"{name_ranks(rank for rank, each in called if not each.is_over)} not done"


def _spread(timed: list[tuple[float, int]]) -> str:
    if not timed:
        return ""
    (least, first), (most, last) = min(timed), max(timed)
    if len(timed) == 1:
        return f" in {least:.1f} us"
    return f" in {least:.1f} us (rank {first}) to {most:.1f} us (rank {last})"


def _how(operation: Operation) -> str:
    channels = f" on {operation.channels} channels" if operation.channels > 1 else ""
    return f"by {one_line(operation.algorithm)}{channels}"


def _clock(seconds: float) -> str:
    try:
        return f"{time.strftime('%H:%M:%S', time.gmtime(seconds))}.{int(seconds * 1000) % 1000:03d}"
    except (OverflowError, ValueError, OSError):
        return "at unknown time"
