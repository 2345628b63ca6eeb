# SPDX-License-Identifier: Apache-2.0
"""Words and evidence common to the findings of `log hang`."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.hold import Hold
from railgauge.topo.jobs.hang.model import JobCommunicator, ProcessStack, Status, counted, named
from railgauge.topo.jobs.hang.standstill import Standstill

FEW = 3  # operations that follow from a cause and are named


def few(ranks: Sequence[int], comm: JobCommunicator) -> bool:
    """Whether so few ranks lack data that the ranks are at fault, not the collection."""
    return 2 * len(ranks) < len(comm.members)


def are(ranks: Sequence[int], one: str = "is", several: str = "are") -> str:
    """`rank 3 is`, `ranks 3-5 are`."""
    return f"{named(ranks)} {one if len(ranks) == 1 else several}"


def have(ranks: Sequence[int]) -> str:
    """`rank 3 has`, `ranks 3-5 have`."""
    return are(ranks, "has", "have")


def are_missing(hold: Hold, ranks: Sequence[int]) -> str:
    """`rank 7 has not entered all_reduce #41 (communicator 0x..., 32 ranks)`."""
    return f"{have(ranks)} not entered {operation(hold, ranks)}"


def operation(hold: Hold, ranks: Sequence[int]) -> str:
    """`all_reduce #41 (communicator 0x..., 32 ranks)`; of a message what these ranks do in it."""
    name = hold.operation
    if hold.lane.peers:
        source, target = hold.lane.peers
        name = f"recv from rank {source}" if tuple(ranks) == (target,) else f"send to rank {target}"
    return f"{name} ({hold.comm.described})"


def wait(hold: Hold, where: str = "in it") -> str:
    """`ranks 0-6 wait in it since 14:02:11`; that they have called it, if it is unknown whether they still wait."""
    if not hold.is_told:
        return f"{have(hold.waiting)} called it"
    where = f"in {hold.operation}" if hold.lane.peers else where
    since = f" since {hold.since}" if hold.since else ""
    ahead = max(hold.lane.tracks[rank].entered for rank in hold.waiting) if hold.waiting else 0
    beyond = (
        f", called up to #{ahead}" if len(hold.waiting) == 1 and ahead > hold.number and not hold.lane.peers else ""
    )
    return f"{are(hold.waiting, 'waits', 'wait')} {where}{since}{beyond}"


def of_stacks(stacks: Sequence[ProcessStack], most: int) -> str:
    """`rank 3 is in load (data.py:51); ranks 0-2 are in all_reduce, called in step (train.py:88)`, the fewest first."""
    alike: dict[str, list[ProcessStack]] = {}
    for one in stacks:
        where = f"{one.operation}, called in {one.at}" if one.operation and one.at else one.operation or one.at
        alike.setdefault(where, []).append(one)
    parts = []
    for where, some in sorted(alike.items(), key=lambda one: len(one[1]))[:most]:
        parts.append(f"{_processes(some)} {'is' if len(some) == 1 else 'are'} in {where}")
    return "; ".join(parts) + (f" and {len(alike) - most} more places" if len(alike) > most else "")


def _processes(stacks: Sequence[ProcessStack]) -> str:
    ranks = [one.rank for one in stacks if one.rank is not None]
    if len(ranks) == len(stacks):
        return named(ranks)
    some = ", ".join(one.label for one in stacks[:FEW])
    return some + (f" and {len(stacks) - FEW} more" if len(stacks) > FEW else "")


def stack_evidence(busy: Sequence[ProcessStack], waiting: Sequence[ProcessStack]) -> dict[str, Any]:
    """What each process does, by its stack."""
    return {
        "ranks": [one.rank for one in busy if one.rank is not None],
        "waiting": [one.rank for one in waiting if one.rank is not None],
        "stacks": [one._asdict() for one in (*busy, *waiting)],
    }


def complaints(standstill: Standstill, rule: FileRule[Standstill], level: Level) -> Iterator[Finding]:
    """The problems of ranks that a source counts and does not name."""
    for one in standstill.scene.complaints:
        if one.card == rule.id:
            yield rule.finding(level, one.about, one.text)


def by_status(comm: JobCommunicator, *wanted: Status) -> list[int]:
    """The ranks of one of some states."""
    return [rank for rank, status in sorted(comm.status.items()) if status in wanted]


def since(hold: Hold) -> str:
    """`, since 14:02:11`, if it is known."""
    return f", since {hold.since}" if hold.since else ""


def effect_of(follows: Sequence[Hold]) -> str:
    """What waits for the cause: `3 more operations wait for this, on ranks 0-7: all_reduce #41 of process group 0`."""
    if not follows:
        return ""
    ranks = {rank for hold in follows for rank in hold.waiting}
    some = ", ".join(f"{hold.operation} of {hold.comm.title}" for hold in follows[:FEW])
    more = f" and {len(follows) - FEW} more" if len(follows) > FEW else ""
    count = counted(len(follows), "more operation")
    return f"{count} {'waits' if len(follows) == 1 else 'wait'} for this, on {named(ranks)}: {some}{more}"


def evidence(comm: JobCommunicator, **more: Any) -> dict[str, Any]:
    """Of which communicator, by which sources, and more."""
    return {"communicator": comm.id, "sources": list(comm.sources), **more}


def evidence_of(hold: Hold, ranks: Sequence[int], follows: Sequence[Hold] = ()) -> dict[str, Any]:
    """The evidence about an operation that is blocked by some ranks, and what follows from it."""
    return evidence(
        hold.comm,
        ranks=list(ranks),
        waiting=list(hold.waiting),
        operation=hold.operation,
        number=hold.number,
        since=hold.since or None,
        follows=[
            {"communicator": one.comm.id, "operation": one.operation, "waiting": list(one.waiting)} for one in follows
        ],
    )
