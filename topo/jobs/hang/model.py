# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of a stuck job stand: for each communicator, how far each rank has come, from any source.

Operations are numbered within a lane, which all its ranks go along in the same order: the collectives of a
communicator; those of one kind (NCCL's RAS counts each kind by itself); what one rank sends to another.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from railgauge.topo.values.spans import runs, spans

COLLECTIVES = ""
"""The name of the lane in which all collectives of a communicator are counted."""
MOST_RUNS = 12
"""Ranges of ranks that are named; JSON documents have all ranks."""
JOB, OWN = "job", "communicator"
"""What ranks are numbered in: the same rank of two communicators is one only where it is the job."""


class State(StrEnum):
    """How far a rank has come in an operation."""

    CALLED = "called"
    """It has called it; unknown whether it has come out."""
    SCHEDULED = "scheduled"
    """It is in it; its GPU has not begun, or this is unknown."""
    STARTED = "started"
    """Its GPU has begun it."""
    COMPLETED = "completed"


class Status(StrEnum):
    """What a rank does with a communicator."""

    STARTING = "starting"
    RUNNING = "running"
    LEFT = "left"
    """It has ended its part in it, or is not in it (any more)."""
    SILENT = "silent"
    """It does not answer."""
    DEAD = "dead"


GONE = (Status.SILENT, Status.DEAD)


class Call(NamedTuple):
    """An operation as one rank called it.

    elements: those that must be equal in number on all ranks; None if they need not be or are unknown. The same holds
    for dtype, op and root, "" and None; name: "" if unknown. since: when it was called, in the source's
    format. timed_out: a watchdog gave up. order: its place among all calls of its rank, of any communicator; 0
    if unknown. parts: the operations inside a coalesced one, and the tensors of one that has several.
    """

    number: int
    name: str
    state: State
    elements: int | None = None
    dtype: str = ""
    op: str = ""
    root: int | None = None
    since: str = ""
    timed_out: bool = False
    order: int = 0
    parts: tuple[str, ...] = ()


@dataclass(slots=True)
class Track:
    """How far one rank has come: the last operation that it called, and the last that is over (None: unknown).

    moved: the previous look saw it elsewhere.
    """

    entered: int
    completed: int | None = None
    calls: dict[int, Call] = field(default_factory=dict)
    moved: bool = False

    @property
    def waits_in(self) -> int | None:
        """The number of the operation that it is in; None if none or unknown."""
        waits = self.completed is not None and self.completed < self.entered
        return self.completed + 1 if waits and self.completed is not None else None


@dataclass(slots=True)
class Lane:
    """Ranks that go along the same operations. peers: of a lane between two ranks, who sends and who receives."""

    tracks: dict[int, Track] = field(default_factory=dict)
    peers: tuple[int, int] | None = None
    unnamed: dict[int, int] = field(default_factory=dict)
    """How many ranks have come how far, where the source does not say which they are."""

    def put(self, rank: int, track: Track) -> bool:
        """Add a source's state of a rank; that with more calls is kept. False if two contradict each other."""
        known = self.tracks.setdefault(rank, track)
        if known is track:
            return True
        both = known.waits_in, track.waits_in
        kept = max(known, track, key=lambda one: len(one.calls))
        timed_out = {one.number for track in (known, track) for one in track.calls.values() if one.timed_out}
        kept.calls |= {each: kept.calls[each]._replace(timed_out=True) for each in timed_out & kept.calls.keys()}
        self.tracks[rank] = kept
        return None in both or both[0] == both[1]


@dataclass(slots=True)
class JobCommunicator:
    """A communicator of NCCL, a process group of PyTorch, or one of railgauge's own.

    size and ranks: None and () if unknown; at_least: so many ranks it has at least. nodes: by rank, if known;
    node_count: of all. trouble: what is said of ranks that failed.
    """

    id: str
    kind: str = "communicator"
    about: str = ""
    numbering: str = OWN
    size: int | None = None
    ranks: tuple[int, ...] = ()
    at_least: int = 0
    nodes: dict[int, str] = field(default_factory=dict)
    node_count: int | None = None
    status: dict[int, Status] = field(default_factory=dict)
    trouble: dict[int, str] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)

    def lane(self, name: str = COLLECTIVES) -> Lane:
        """That lane, made where there was none."""
        return self.lanes.setdefault(name, Lane())

    @property
    def members(self) -> tuple[int, ...]:
        """All ranks that are in it, as far as that is known."""
        if self.is_counted:
            return self.ranks or tuple(range(self.size or 0))
        return tuple(
            sorted(
                {*range(self.at_least), *self.status, *(rank for lane in self.lanes.values() for rank in lane.tracks)}
            )
        )

    @property
    def is_counted(self) -> bool:
        """Whether its number of ranks is known."""
        return bool(self.ranks or self.size)

    @property
    def title(self) -> str:
        """`communicator 0xfa93daea854b060b`."""
        return f"{self.kind} {self.id}{f' ({self.about})' if self.about else ''}"

    @property
    def described(self) -> str:
        """`communicator 0xfa93daea854b060b, 32 ranks on 4 nodes`."""
        nodes = len(set(self.nodes.values())) if len(self.nodes) == len(self.members) else self.node_count
        where = f" on {counted(nodes, 'node')}" if nodes else ""
        size = counted(len(self.members), "rank") if self.is_counted else "number of ranks unknown"
        if self.at_least and not self.is_counted:
            size = f"at least {counted(self.at_least, 'rank')}"
        return f"{self.title}, {size}{where}"


class Complaint(NamedTuple):
    """A problem of ranks that a source counts and does not name. card: the id of the finding; about: its subject."""

    card: str
    about: str
    text: str


class ProcessStack(NamedTuple):
    """What a process does, by its stack. label: what it is called where its rank is unknown.

    operation: the collective that it is in, "" if none. at: the innermost call of the program itself, `step
    (train.py:88)`. waits: it is in a collective, or waits for its GPU.
    """

    rank: int | None
    label: str
    operation: str
    at: str
    waits: bool


@dataclass(slots=True)
class JobState:
    """All that was read. notes: what could not be read or does not fit. bootstraps: of each node, by which it meets.

    size: how many ranks the job has, None if unknown. heard: ranks whose watchdog gave up, on what is unknown.
    asleep: by rank, for how many seconds its watchdog itself was stuck, 0 if that is unknown. stacks: of its
    processes. complaints: about ranks without a name.
    """

    communicators: dict[str, JobCommunicator] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    bootstraps: dict[str, str] = field(default_factory=dict)
    size: int | None = None
    heard: dict[int, None] = field(default_factory=dict)
    asleep: dict[int, int] = field(default_factory=dict)
    stacks: list[ProcessStack] = field(default_factory=list)
    complaints: dict[Complaint, None] = field(default_factory=dict)

    def communicator(self, key: str, source: str, told: JobCommunicator) -> JobCommunicator:
        """The communicator of that key, with the facts of `source` if they were unknown."""
        found = self.communicators.setdefault(key, told)
        found.sources[source] = None
        found.size, found.ranks = found.size or told.size, found.ranks or told.ranks
        found.about, found.node_count = found.about or told.about, found.node_count or told.node_count
        return found

    def note(self, text: str) -> None:
        """Keep a sentence on the evidence itself."""
        self.notes[text] = None


def counted(number: int, what: str) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def named(ranks: Iterable[int]) -> str:
    """`rank 7`, `ranks 0-6,8`; of many that are not in a row the first, and how many there are."""
    ordered = sorted(set(ranks))
    found = runs(ordered)
    if len(found) <= MOST_RUNS:
        return spans("rank", ordered)
    first = [rank for run in found[:MOST_RUNS] for rank in run]
    return f"{spans('rank', first)},... ({len(ordered)} of them)"
