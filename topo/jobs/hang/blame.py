# SPDX-License-Identifier: Apache-2.0
"""Which of the lanes that do not go on are causes, and what follows from each: one fault stops many operations.

A rank that waits is held up by those that have not called its operation, and by those that have, but are still in an
earlier one. Causes, the strongest first:

1. Ranks called an operation differently.
2. A rank is still in an operation that its peers have left: its GPU or its process is at fault, whatever it waits for.
3. A rank has not called what others wait in, and waits in nothing itself, or for no more than a message; or nothing is
   heard of it.
4. All have called an operation, none waits elsewhere before it, and it does not end.
5. What is left waits for each other in a circle.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from railgauge.topo.jobs.hang.hold import Hold
from railgauge.topo.jobs.hang.model import JOB

Who = tuple[str, int]
"""A rank: of the job ("") or of one communicator, whose ranks are not the job's."""
Place = tuple[int, int]
"""A lane, by id(), and the number of an operation in it."""
EARLY_OUT = ("broadcast", "reduce", "gather", "scatter", "send", "recv")
"""Operations that a rank may leave before all others have come."""


@dataclass(slots=True)
class _Stop:
    """An operation in which ranks wait."""

    hold: Hold
    waiting: list[Who] = field(default_factory=list)
    blockers: list[Who] = field(default_factory=list)


class Blame:
    """Causes, each a hold by which its ranks are named: ranks that an earlier one names are not named again.

    still: ranks in what others have left. behind: ranks that have not called it. missing: ranks without a trace.
    stuck: all have called it. short: too little is known. circles: ranks that wait for each other. apart: the lanes (by
    id()) in which ranks called different operations, a cause of their own.
    """

    def __init__(self, holds: Iterable[Hold], apart: set[int]) -> None:
        self._apart = apart
        self._first: dict[Who, Place] = {}
        self._stops: dict[Place, _Stop] = {}
        self._root: dict[Who, Hashable] = {}  # what holds up a rank: a rank, a hold or a lane
        self._explained: dict[Place, Hashable] = {}
        self._named: dict[Hashable, Hold] = {}  # a root, by the hold that names it
        self._follow: dict[int, list[Hold]] = {}
        self._holds = [hold for hold in holds if hold.waiting or hold.behind]
        self._find_stops()
        judged = self._holds
        culprits = {id(hold): self._culprits(hold) for hold in judged}
        self._explain(chain(self._of_apart(), ((who, who) for some in culprits.values() for who in some)))
        causes = list(self._causes(judged, culprits))
        self.still = tuple(hold for hold in causes if self._is_left(hold))
        self.behind = tuple(hold for hold in causes if hold.behind and id(hold.lane) not in apart)
        judged = [hold for hold in judged if id(hold.lane) not in apart]
        self.missing = tuple(hold for hold in causes if hold not in (*self.still, *self.behind) and hold in judged)
        rest = [hold for hold in judged if not culprits[id(hold)] and self._place(hold) not in self._explained]
        laggards = {id(hold): self._laggards(hold) for hold in rest}
        if any(laggards.values()):
            self._explain((who, who) for some in laggards.values() for who in some)
            causes += (lagging := list(self._causes(rest, laggards)))
            self.behind += tuple(lagging)
            rest = [hold for hold in rest if not laggards[id(hold)] and self._place(hold) not in self._explained]
        ends = [hold for hold in rest if self._is_end(hold)]
        for hold in ends:
            self._named[id(hold)] = hold
        self._explain((who, id(hold)) for hold in ends for who in _whos(hold, hold.waiting))
        self.short = tuple(hold for hold in ends if hold.silent or hold.untold)
        self.stuck = tuple(hold for hold in ends if not (hold.silent or hold.untold or hold.gone))
        self.circles = tuple(
            self._circling([hold for hold in rest if hold not in ends and self._place(hold) not in self._explained])
        )
        primary = {id(hold) for hold in (*causes, *ends, *self.circles)}
        for hold in judged:
            if id(hold) not in primary:
                self._file(hold)

    @property
    def causes(self) -> tuple[Hold, ...]:
        """All of them, the strongest first."""
        return (*self.still, *self.behind, *self.missing, *self.circles, *self.stuck, *self.short)

    def follows(self, cause: Hold) -> tuple[Hold, ...]:
        """The holds that would go on without this cause."""
        return tuple(self._follow.get(id(cause.lane), ()))

    def follows_lane(self, lane: int) -> tuple[Hold, ...]:
        """The same of a lane (by id()) in which ranks called different operations."""
        return tuple(self._follow.get(lane, ()))

    def elsewhere(self, hold: Hold) -> dict[int, Hold]:
        """The ranks that are missing in `hold` and wait themselves in another one."""
        first = {rank: self._first.get(_who(hold, rank)) for rank in hold.behind}
        return {rank: self._stops[place].hold for rank, place in first.items() if place}

    def _find_stops(self) -> None:
        waits: dict[Who, tuple[int, str, Place]] = {}
        for hold in self._holds:
            self._stops[self._place(hold)] = stop = _Stop(hold)
            if not hold.is_told:
                stop.waiting += _whos(hold, hold.waiting)
            for rank, track in hold.lane.tracks.items():
                if (number := track.waits_in) is None:
                    continue
                place, who, call = (id(hold.lane), number), _who(hold, rank), track.calls.get(number)
                self._stops.setdefault(place, _Stop(hold)).waiting.append(who)
                wait = (call.order, call.since, place) if call else (0, "", place)
                if who not in waits or wait[:2] < waits[who][:2]:
                    waits[who] = wait
        self._first = {who: place for who, (_, _, place) in waits.items()}
        for (lane, number), stop in self._stops.items():
            stop.blockers += self._blockers(stop.hold, (lane, number))

    def _blockers(self, hold: Hold, place: Place) -> Iterator[Who]:
        number = place[1]
        for rank, track in hold.lane.tracks.items():
            waits, who = track.waits_in, _who(hold, rank)
            if waits is not None and waits <= number:
                if self._first[who] != place:
                    yield who
            elif track.entered < number and not track.moved:
                yield who
        yield from _whos(hold, (*hold.silent, *hold.untold, *hold.gone))

    def _culprits(self, hold: Hold) -> frozenset[Who]:
        """The ranks that this hold proves to be at fault."""
        if self._is_left(hold):
            return frozenset(_whos(hold, hold.waiting))
        absent = hold.silent if hold.is_short_of_few else ()
        behind = () if id(hold.lane) in self._apart else hold.behind
        missing = (*behind, *absent, *hold.gone) if hold.waiting else behind
        return frozenset(who for who in _whos(hold, missing) if who not in self._first)

    def _laggards(self, hold: Hold) -> frozenset[Who]:
        """Those that have not called a collective, and wait for no more than a message that they posted ahead."""
        if hold.lane.peers or not hold.is_told:
            return frozenset()
        first = {who: self._first.get(who) for who in _whos(hold, hold.behind)}
        return frozenset(who for who, place in first.items() if place and self._stops[place].hold.lane.peers)

    def _causes(self, holds: Iterable[Hold], culprits: Mapping[int, frozenset[Who]]) -> Iterator[Hold]:
        """Those that name culprits no other one names: ranks in what others have left first, then who names most."""

        def rank(hold: Hold) -> tuple[bool, int, int]:
            calls = (hold.lane.tracks[rank].calls.get(hold.number) for rank in hold.waiting)
            order = min((call.order for call in calls if call), default=0)
            return not self._is_left(hold), -len(culprits[id(hold)]), order

        for hold in sorted(holds, key=rank):
            new = [who for who in culprits[id(hold)] if who not in self._named]
            self._named |= dict.fromkeys(new, hold)
            if new:
                yield hold

    def _is_left(self, hold: Hold) -> bool:
        """Whether its peers have left what some ranks are in; of an operation that one may leave early, only if these
        wait in nothing before it.
        """
        if not hold.through or not hold.waiting or hold.behind or id(hold.lane) in self._apart:
            return False
        name = hold.call.name.lower().strip("_").removesuffix("_oop") if hold.call else ""
        early = bool(hold.lane.peers) or name in EARLY_OUT
        return not early or all(self._first.get(who) == self._place(hold) for who in _whos(hold, hold.waiting))

    def _is_end(self, hold: Hold) -> bool:
        """Whether all that are known have called it and wait in nothing before it."""
        return not hold.behind and all(
            self._first.get(who, self._place(hold)) == self._place(hold) for who in _whos(hold, hold.waiting)
        )

    def _of_apart(self) -> Iterator[tuple[Who, Hashable]]:
        """Those that wait in a lane in which ranks called different operations."""
        for (lane, _), stop in self._stops.items():
            if lane in self._apart:
                yield from ((who, lane) for who in stop.waiting)

    def _explain(self, roots: Iterable[tuple[Who, Hashable]]) -> None:
        """Follow what waits for these ranks, and what waits for that."""
        blocked: dict[Who, list[Place]] = {}
        for place, stop in self._stops.items():
            for who in stop.blockers:
                blocked.setdefault(who, []).append(place)
        todo: deque[Who] = deque()
        for who, root in roots:
            if who not in self._root:
                self._root[who] = root
                todo.append(who)
        while todo:
            who = todo.popleft()
            for place in blocked.get(who, ()):
                if place in self._explained:
                    continue
                self._explained[place] = self._root[who]
                for waiter in self._stops[place].waiting:
                    if waiter not in self._root:
                        self._root[waiter] = self._root[who]
                        todo.append(waiter)

    def _circling(self, holds: list[Hold]) -> Iterator[Hold]:
        """Those whose ranks others of them wait for; the rest of them follows."""
        while True:
            blockers = {who for hold in holds for who in self._stops[self._place(hold)].blockers}
            kept = [hold for hold in holds if not blockers.isdisjoint(_whos(hold, hold.waiting))]
            if len(kept) == len(holds):
                break
            holds = kept
        yield from holds

    def _file(self, hold: Hold) -> None:
        """Put a hold below its cause."""
        root = self._explained.get(self._place(hold))
        if root is None:
            root = next((who for who in self._culprits(hold) if who in self._named), None)
        lane = id(self._named[root].lane) if root in self._named else root
        if isinstance(lane, int) and lane != id(hold.lane):
            self._follow.setdefault(lane, []).append(hold)

    def _place(self, hold: Hold) -> Place:
        return id(hold.lane), hold.number


def _who(hold: Hold, rank: int) -> Who:
    return ("" if hold.comm.numbering == JOB else hold.comm.id), rank


def _whos(hold: Hold, ranks: Iterable[int]) -> list[Who]:
    return [_who(hold, rank) for rank in ranks]
