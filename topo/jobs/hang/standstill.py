# SPDX-License-Identifier: Apache-2.0
"""Where each communicator stands still: the operation that ranks are in and others are not, and who is who.

The operation is the first that a rank is in and has not come out of. If no source has the end of an operation
(NCCL's logs and RAS count calls), it is the first that some ranks have called and others have not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from railgauge.topo.jobs.hang.agreement import Terms, parting
from railgauge.topo.jobs.hang.model import GONE, JOB, Call, JobCommunicator, JobState, Lane, State, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One lane that does not go on, at the operation `number`, by rank: who is in it, has not called it, is through it.

    silent: without any data. untold: without data in this lane. gone: not reached by RAS.
    call: how one rank called it; None where calls are only counted.
    """

    comm: JobCommunicator
    name: str
    lane: Lane
    number: int
    call: Call | None
    waiting: tuple[int, ...]
    behind: tuple[int, ...]
    through: tuple[int, ...]
    silent: tuple[int, ...]
    untold: tuple[int, ...]
    gone: tuple[int, ...]

    @property
    def operation(self) -> str:
        """`all_reduce #41`, `recv from rank 3`."""
        if self.lane.peers:
            source, target = self.lane.peers
            if len(self.waiting) > 1:
                return f"the send from rank {source} to rank {target}"
            return f"recv from rank {source}" if self.waiting == (target,) else f"send to rank {target}"
        return f"{self.call.name if self.call else self.name or 'collective'} #{self.number}"

    @property
    def since(self) -> str:
        """When the first of those that are in it began it; "" if unknown."""
        calls = (self.lane.tracks[rank].calls.get(self.number) for rank in self.waiting)
        return min((call.since for call in calls if call and call.since), default="")

    @property
    def is_told(self) -> bool:
        """Whether those that have called it are known to be still in it."""
        return any(self.lane.tracks[rank].waits_in is not None for rank in self.waiting)

    @property
    def timed_out(self) -> bool:
        """Whether a watchdog gave up on it."""
        calls = (self.lane.tracks[rank].calls.get(self.number) for rank in self.waiting)
        return any(call.timed_out for call in calls if call)


class Standstill:
    """A scene, and what of it stands still."""

    def __init__(self, scene: JobState) -> None:
        self.scene = scene

    @cached_property
    def holds(self) -> tuple[Hold, ...]:
        """All lanes that do not go on."""
        return tuple(
            hold
            for comm in self.scene.communicators.values()
            for name, lane in comm.lanes.items()
            if (hold := _hold(comm, name, lane))
        )

    @cached_property
    def partings(self) -> tuple[tuple[JobCommunicator, Lane, int, dict[Terms, list[int]]], ...]:
        """The first operation of each lane that ranks called differently."""
        found = []
        held = {id(hold.lane): hold.number for hold in self.holds}
        for comm in self.scene.communicators.values():
            for lane in comm.lanes.values():
                if parted := parting(lane, held.get(id(lane))):
                    found.append((comm, lane, *parted))
        return tuple(found)

    @cached_property
    def _waits(self) -> dict[int, list[Hold]]:
        """By rank of the job, the operation in which it waits."""
        found: dict[int, list[Hold]] = {}
        for hold in self.holds:
            for rank in hold.waiting if hold.comm.numbering == JOB and hold.is_told else ():
                found.setdefault(rank, []).append(hold)
        return found

    @cached_property
    def swapped(self) -> tuple[tuple[Hold, Hold], ...]:
        """Where calls are counted by kind: two kinds, of which each lacks calls of the ranks that lead in the other."""
        counted = [hold for hold in self.holds if hold.name and not hold.lane.peers and hold.behind]
        return tuple((one, two) for one, two in combinations(counted, 2) if _are_swapped(one, two))

    @cached_property
    def apart(self) -> set[int]:
        """The lanes (by id()) in which ranks called different operations: who is behind in them says nothing more."""
        lanes = [lane for _, lane, _, _ in self.partings]
        return {id(lane) for lane in (*lanes, *(hold.lane for pair in self.swapped for hold in pair))}

    def elsewhere(self, hold: Hold) -> dict[int, Hold]:
        """The ranks that are missing in `hold` and wait themselves in another one."""
        if hold.comm.numbering != JOB:
            return {}
        return {rank: self._waits[rank][0] for rank in hold.behind if rank in self._waits}


def _are_swapped(one: Hold, two: Hold) -> bool:
    return one.comm is two.comm and set(one.behind) <= set(two.waiting) and set(two.behind) <= set(one.waiting)


def _hold(comm: JobCommunicator, name: str, lane: Lane) -> Hold | None:
    number = _number(lane)
    if number is None:
        return None
    sides: dict[str, list[int]] = {"waiting": [], "behind": [], "through": []}
    for rank, track in sorted(lane.tracks.items()):
        if track.entered < number:
            if not track.moved:
                sides["behind"].append(rank)
        elif track.completed is not None and track.completed >= number:
            sides["through"].append(rank)
        else:
            sides["waiting"].append(rank)
    call = next(_calls(lane, number, sides["waiting"]), None)
    sides |= _others(comm, lane)
    return Hold(comm=comm, name=name, lane=lane, number=number, call=call, **{k: tuple(v) for k, v in sides.items()})


def _others(comm: JobCommunicator, lane: Lane) -> dict[str, list[int]]:
    """Those that are not in the lane, by their status; those that have left are not waited for."""
    kinds: dict[Status | None, str] = {None: "silent", Status.RUNNING: "untold", Status.STARTING: "untold"}
    kinds |= dict.fromkeys(GONE, "gone")
    others: dict[str, list[int]] = {"silent": [], "untold": [], "gone": []}
    for rank in lane.peers or comm.members:
        status = comm.status.get(rank)
        if rank not in lane.tracks and status in kinds:
            others[kinds[status]].append(rank)
    return others


def _calls(lane: Lane, number: int, ranks: list[int]) -> Iterator[Call]:
    return (lane.tracks[rank].calls[number] for rank in ranks if number in lane.tracks[rank].calls)


def _number(lane: Lane) -> int | None:
    waits = [track.waits_in for track in lane.tracks.values() if track.waits_in is not None]
    if waits:
        return min(waits)
    counted = [track for track in lane.tracks.values() if track.completed is None]
    entered = {track.entered for track in counted}
    if len(entered) < 2:
        return None
    least = min(entered)
    later = [number for track in counted for number in track.calls if number > least]
    return min(later, default=least + 1)


def begun(hold: Hold) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of those that are in it: whose GPU has begun it, and whose has not, or is unknown."""
    states = {rank: hold.lane.tracks[rank].calls.get(hold.number) for rank in hold.waiting}
    started = tuple(rank for rank, call in states.items() if call and call.state is State.STARTED)
    return started, tuple(rank for rank in hold.waiting if rank not in started)
