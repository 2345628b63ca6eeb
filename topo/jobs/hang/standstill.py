# SPDX-License-Identifier: Apache-2.0
"""Where each communicator stands still: the operation that ranks are in and others are not, and who is who.

The operation is the first that a rank is in and has not come out of. If no source has the end of an operation
(NCCL's logs and RAS count calls), it is the first that some ranks have called and others have not.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations

from railgauge.topo.jobs.hang.agreement import Terms, parting
from railgauge.topo.jobs.hang.blame import Blame
from railgauge.topo.jobs.hang.hold import Hold
from railgauge.topo.jobs.hang.model import GONE, Call, JobCommunicator, JobState, Lane, Status


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
    def swapped(self) -> tuple[tuple[Hold, Hold], ...]:
        """Where calls are counted by kind: two kinds, of which each lacks calls of the ranks that lead in the other."""
        counted = [hold for hold in self.holds if hold.name and not hold.lane.peers and hold.behind]
        return tuple((one, two) for one, two in combinations(counted, 2) if _are_swapped(one, two))

    @cached_property
    def apart(self) -> set[int]:
        """The lanes (by id()) in which ranks called different operations: who is behind in them says nothing more."""
        lanes = [lane for _, lane, _, _ in self.partings]
        return {id(lane) for lane in (*lanes, *(hold.lane for pair in self.swapped for hold in pair))}

    @cached_property
    def blame(self) -> Blame:
        """What each lane that does not go on is: a cause, or what follows from one."""
        return Blame(self.holds, self.apart)


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
    calls = list(_calls(lane, number, sides["waiting"]))
    call = next((one for one in calls if one.name), calls[0] if calls else None)
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
