# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's watchdogs say in the log of each rank: what they gave up on, and where its process group stands.

    [rank3]:[E603 17:48:01.0 ...] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, ...) ...
    [rank3]:[E603 17:48:01.0 ...] [Rank 3] Work WorkNCCL(SeqNum=41, ...) timed out in blocking wait.
    [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 41 PG status: ...
    [PG 1 Rank 3] Timeout at NCCL work: 41, last enqueued NCCL work: 43, last completed NCCL work: 40.
    [PG 1 Rank 3] Received a dump signal due to a collective timeout from rank 0 ... Last enqueued NCCL work: 40, ...
    [PG 0 Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds ...

Terminals and mail wrap lines: each is read together with those around it, and spaces may be missing in it.
Source: PyTorch's ProcessGroupNCCL.cpp, 1.13 to 2.15; other back ends say the same.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.agreement import SIDES
from railgauge.topo.jobs.hang.hold import WATCHDOG as SOURCE
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Status, Track, named
from railgauge.topo.jobs.logs.line import COLOURS
from railgauge.topo.values.printable import one_line

WORLD = "default_pg"
"""What PyTorch says of the group of all ranks."""
UNNAMED = "without a name"
MOST = 1 << 17
"""Ranks and groups that are kept of one job."""
TELLING = (
    b"atchdog",
    b"eartbeat monitor",
    b"OpType=",
    b"(ms)=",
    b"CCL work:",
    b"last completed",
    b"operations have failed or timed out",
    b"avoid data inconsistency",
)
"""Words of the lines that are read, several of each, since lines are wrapped: looked for as such in all of a log."""
BEFORE, AFTER = 3, 6
"""Lines around one that tells something which may be parts of it."""
NEAR = 100
"""Groups count by themselves: numbers that differ by less than a hundredth are of one, and those that differ by more,
and by more than so many, of several: ranks of one group wait for each other.
"""
REST = 1 << 13
"""Bytes of a block that are read again with the next."""


def _words(text: str) -> re.Pattern[str]:
    """A pattern in which each space may be missing, or be several."""
    return re.compile(text.replace(" ", r"\s*"))


RANK_IN_JOB = re.compile(r"\[(?:rank|default)(\d{1,7})\]:")
WHO = _words(
    r"\[(?:PG (?:ID \d{1,9} PG GUID )?(?P<group>[^\s(\]]{0,128}?) (?:\((?P<about>[^)]{0,128})\))? )?"
    r"Rank (?P<rank>\d{1,7})\]"
)
GIVEN_UP = _words(
    r"(?:Watchdog caught coll.{0,200}?timeout:|\] Work) Work\w{1,32}\(SeqNum=(?P<number>\d{1,18}), "
    r"OpType=(?P<name>\w{1,64})(?:, NumelIn=(?P<input>\d{1,18}), NumelOut=(?P<output>\d{1,18}))?"
    r"(?:[^)]{0,256}\(ms\)=\d{1,12})?\)(?P<end> ran for (?P<ms>\d{1,12}) milliseconds| timed out in blocking wait)?"
)
GROUP = _words(
    r"(?:Exception (?:\(either an error or timeout\) )?detected by watchdog at work|Timeout at \w{1,16} work"
    r"|failure detected by watchdog at work sequence id): (?P<number>\d{1,18})"
    r"(?: (?:,|PG status:) last enqueued (?:\w{1,16} )?work: (?P<enqueued>-?\d{1,18})"
    r", last completed (?:\w{1,16} )?work: (?P<completed>-?\d{1,18}))?"
)
SIGNALLED = _words(
    r"Received a dump signal due to a collective timeout from (?:this local rank|rank \d{1,7})"
    r".{0,256}?Last enqueued \w{1,16} work: (?P<enqueued>-?\d{1,18}), last completed \w{1,16} work: "
    r"(?P<completed>-?\d{1,18})"
)
ASLEEP = _words(r"watchdog got stuck for (?P<seconds>\d{1,9}) seconds")
NO_HEARTBEAT = _words(r"Heartbeat monitor timed out|detected no heartbeat of its watchdog")
GAVE_IN = _words(r"Some \w{1,16} operations have failed|To avoid data inconsistency|watchdog thread terminated")
HEADER = re.compile(r"(?:\[\d{1,9}\] *)?\[(?:(?:rank|default)\d{1,7}\]:|[EWIF](?:\d{3,4} | \w{1,64}\.cpp:))")
"""What begins a record, behind a line number at most."""
TIME = re.compile(r"\[E(\d{3,4}) (\d\d:\d\d:\d\d)")
"""Month and day, and the time of day, of a line of PyTorch."""
WORDS = {
    "ALLREDUCE": "all_reduce",
    "ALLREDUCE_COALESCED": "allreduce_coalesced",
    "ALLGATHER": "all_gather",
    "ALLTOALL": "all_to_all",
    "BROADCAST": "broadcast",
    "REDUCE": "reduce",
    "REDUCE_SCATTER": "reduce_scatter",
    "_ALLGATHER_BASE": "_all_gather_base",
    "_REDUCE_SCATTER_BASE": "_reduce_scatter_base",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "BARRIER": "barrier",
}
"""PyTorch's operations as the flight recorder names them."""
COALESCED = "coalesced"
IN_SHARES = ("all_gather", "_all_gather_base", "reduce_scatter", "_reduce_scatter_base")
"""Operations of which one side has as many times the elements of the other as the group has ranks."""


class _Who(NamedTuple):
    """Who speaks. rank: in the job, or in its group as well (of_group), -1 if unknown; group: "" if unknown."""

    rank: int
    group: str
    about: str
    of_group: bool


@dataclass(slots=True)
class _Standing:
    """Where a rank stands in a group; the operation that the watchdog gave up on, if it did."""

    about: str = ""
    enqueued: int = -1
    completed: int | None = None
    stuck: Call | None = None


class Watchdogs:
    """Reads the lines of watchdogs."""

    def __init__(self) -> None:
        self._standings: dict[tuple[str, int], _Standing] = {}  # by group and rank
        self._given_up: dict[tuple[int, int], Call] = {}  # by rank and number: its group comes later
        self._sizes: dict[tuple[int, int], int] = {}  # by rank and number: of its group, by the elements of both sides
        self._asleep: dict[int, int] = {}  # by rank, seconds without a heartbeat, 0 if unknown
        self._heard: dict[int, None] = {}
        self._of_groups = True  # all that spoke gave their rank in their group
        self._rest = b""

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was a watchdog's."""
        told = False
        block = self._rest + block
        for begin in lines_saying(TELLING, block):
            told = self._record(block, begin) or told
        self._rest = block[_lines_before(block, len(block), BEFORE + AFTER) :][-REST:]
        return told

    def put(self, scene: JobState, job_size: int | None) -> None:
        """Add their facts to a scene; job_size: how many ranks the job has, where that is known."""
        for (_, rank), standing in self._standings.items():
            if standing.stuck:
                standing.stuck = self._given_up.pop((rank, standing.stuck.number), standing.stuck)
        groups: dict[tuple[int, str], set[str]] = {}
        for (group, _), standing in self._standings.items():
            if standing.stuck and group != UNNAMED:
                groups.setdefault((standing.stuck.number, standing.stuck.name), set()).add(group)
        for (rank, number), call in self._given_up.items():
            alike = groups.get((number, call.name), set())  # its line about the group is not there: that of others is
            alike = alike or self._near(rank, number)
            key = (next(iter(alike)) if len(alike) == 1 else UNNAMED), rank
            standing = self._standings.setdefault(key, _Standing(about=self._about(key[0])))
            standing.enqueued = max(standing.enqueued, number)
            if standing.stuck is None or not 0 <= number - standing.stuck.number <= NEAR:  # the first is waited for
                standing.stuck = call
        self._part_unnamed()
        job_size = job_size or self._world_size()
        for (group, rank), standing in sorted(self._standings.items(), key=lambda one: one[0]):
            comm = _put_standing(scene, group, rank, standing, job_size)
            if comm and group == UNNAMED and self._of_groups:
                comm.at_least = max(comm.at_least, rank + 1)  # groups number their ranks from 0
        scene.asleep |= self._asleep
        waits = any(one.stuck or one.enqueued > (one.completed or 0) for one in self._standings.values())
        told = (
            (rank, one.stuck or (waits and one.completed is not None)) for (_, rank), one in self._standings.items()
        )
        known = {rank for rank, where in told if where}
        if heard := sorted(self._heard.keys() - known):
            scene.heard |= dict.fromkeys(heard)
            scene.note(f"the watchdog of {named(heard)} gave up; on which operation is not in the log")
        for comm in scene.communicators.values():
            if comm.about == WORLD and SOURCE in comm.sources and not comm.ranks:
                comm.status |= dict.fromkeys((rank for rank in heard if rank not in comm.lane().tracks), Status.RUNNING)

    def _world_size(self) -> int | None:
        """How many ranks the job has by the operations that its ranks wait in, where these agree."""
        held = (
            (rank, one.stuck.number) for (_, rank), one in self._standings.items() if one.stuck and one.about == WORLD
        )
        sizes = {self._sizes[place] for place in held if place in self._sizes}
        return sizes.pop() if len(sizes) == 1 else None

    def _part_unnamed(self) -> None:
        """Part the group without a name where its ranks' numbers are far apart."""
        ranks = {rank: one for (group, rank), one in self._standings.items() if group == UNNAMED}
        at = {rank: one.stuck.number if one.stuck else one.enqueued for rank, one in ranks.items()}
        last, name = None, UNNAMED
        for rank, number in sorted(at.items(), key=lambda one: -one[1]):
            if last is not None and last - number > max(NEAR, number // NEAR):
                name = f"{UNNAMED}, of numbers about {number}"
            if name != UNNAMED:
                self._standings[name, rank] = self._standings.pop((UNNAMED, rank))
            last = number

    def _near(self, rank: int, number: int) -> set[str]:
        """The groups whose ranks stand so near by their numbers that this rank, not among them, is one more."""
        named = [(group, one.enqueued) for (group, _), one in self._standings.items() if group != UNNAMED]
        near = {group for group, enqueued in named if NEAR * abs(enqueued - number) < number}
        return {group for group in near if (group, rank) not in self._standings}

    def _about(self, group: str) -> str:
        return next((one.about for (name, _), one in self._standings.items() if name == group), "")

    def _record(self, block: bytes, begin: int) -> bool:
        """Read a line; with those around it, where it is part of a record only."""
        end = _lines_after(block, begin, 1)
        line = _text(block[begin:end])
        told = self._take(line, whole=True)
        if not told:
            first, last = _lines_before(block, begin, BEFORE), _lines_after(block, end, AFTER)
            joined = _joined(block[first:last].splitlines())
            tries = ((joined, True), (line, False), (joined, False))
            told = any(self._take(text, whole=whole) for text, whole in tries)
        return told

    def _take(self, text: str, *, whole: bool) -> bool:
        told = False
        for pattern, end, take in (
            (GIVEN_UP, "end", self._take_given_up),
            (GROUP, "completed", self._take_group),
            (SIGNALLED, "completed", self._take_signalled),
            (ASLEEP, "seconds", self._take_asleep),
            (NO_HEARTBEAT, 0, self._take_no_heartbeat),
            (GAVE_IN, 0, self._take_heard),
        ):
            for found in pattern.finditer(text):
                who = _who(text, found)
                if (found[end] or not whole) and who.rank >= 0:
                    told = True
                    self._of_groups = self._of_groups and who.of_group
                    take(text, found, who)
        return told

    def _take_given_up(self, text: str, found: re.Match[str], who: _Who) -> None:
        rank, number = who.rank, int(found["number"])
        name = WORDS.get(found["name"], found["name"].lower())
        call = Call(
            number=number,
            name=name,
            state=State.SCHEDULED,
            elements=_elements(name, found["input"], found["output"]),
            since=_since(text[: found.start()], int(found["ms"] or 0)),
            timed_out=True,
        )
        if len(self._given_up) < MOST and (call.since or (rank, number) not in self._given_up):
            self._given_up[rank, number] = call
            if size := _group_size(name, found["input"], found["output"]):
                self._sizes[rank, number] = size
        if who.group and (standing := self._of(who)):
            standing.stuck = Call(number, "", State.SCHEDULED, timed_out=True)
            standing.enqueued = max(standing.enqueued, number)

    def _take_group(self, text: str, found: re.Match[str], who: _Who) -> None:
        number = int(found["number"])
        if standing := self._standing(found, who):
            standing.stuck = Call(number, "", State.SCHEDULED, timed_out=True)
            standing.enqueued = max(standing.enqueued, number)

    def _take_signalled(self, text: str, found: re.Match[str], who: _Who) -> None:
        if self._standing(found, who):
            self._heard[who.rank] = None

    def _take_asleep(self, text: str, found: re.Match[str], who: _Who) -> None:
        if len(self._asleep) < MOST:
            self._asleep[who.rank] = int(found["seconds"])

    def _take_no_heartbeat(self, text: str, found: re.Match[str], who: _Who) -> None:
        if len(self._asleep) < MOST:
            self._asleep.setdefault(who.rank, 0)

    def _take_heard(self, text: str, found: re.Match[str], who: _Who) -> None:
        if len(self._heard) < MOST:
            self._heard[who.rank] = None

    def _standing(self, found: re.Match[str], who: _Who) -> _Standing | None:
        standing = self._of(who)
        if standing and found["enqueued"]:
            standing.enqueued, standing.completed = int(found["enqueued"]), int(found["completed"])
        return standing

    def _of(self, who: _Who) -> _Standing | None:
        key = who.group or UNNAMED, who.rank
        if len(self._standings) >= MOST and key not in self._standings:
            return None
        standing = self._standings.setdefault(key, _Standing())
        standing.about = who.about or standing.about
        return standing


def _lines_before(block: bytes, position: int, lines: int) -> int:
    """Where the line begins that is so many before the one that begins at a position."""
    for _ in range(lines):
        position = block.rfind(b"\n", 0, max(position - 1, 0)) + 1
    return position


def _lines_after(block: bytes, position: int, lines: int) -> int:
    """Where the line begins that is so many after the one that begins at a position."""
    for _ in range(lines):
        position = block.find(b"\n", position) + 1 or len(block)
    return position


def _text(line: bytes) -> str:
    return COLOURS.sub("", line[:LONGEST].decode("utf-8", "replace")).strip()


def _joined(lines: list[bytes]) -> str:
    """Lines put together where they do not begin a record of their own."""
    return "".join(f"\n{text}" if HEADER.match(text) else text for text in map(_text, lines))


def _put_standing(
    scene: JobState, group: str, rank: int, standing: _Standing, job_size: int | None
) -> JobCommunicator | None:
    """Put it into the scene; the process group, where its standing is known."""
    call = standing.stuck
    if call and call.name in ("send", "recv"):
        scene.note(f"the watchdog of rank {rank} gave up on {call.name} #{call.number}")
        return None
    if call is None and standing.completed is None:
        return None
    comm = _group_of(scene, group, rank, standing, job_size)
    completed = call.number - 1 if call else standing.completed
    track = Track(max(standing.enqueued, call.number if call else 0), completed, {call.number: call} if call else {})
    if not comm.lane().put(rank, track):
        scene.note(f"{comm.title}: the sources disagree on the operation of rank {rank}")
    return comm


def _group_of(scene: JobState, group: str, rank: int, standing: _Standing, job_size: int | None) -> JobCommunicator:
    """The process group: one from flight records that has this rank, if any."""
    known = (one for one in scene.communicators.values() if one.numbering == JOB and one.id == group)
    comm = next((one for one in known if rank in one.members or not one.ranks), None)
    world = standing.about == WORLD
    if comm is None:
        told = JobCommunicator(group, "process group", standing.about, JOB, job_size if world else None)
        comm = scene.communicator(f"group {group}", SOURCE, told)
    comm.sources[SOURCE] = None
    comm.about = comm.about or standing.about
    comm.at_least = max(comm.at_least, rank + 1) if world else 0
    if comm.size is not None and comm.size < comm.at_least:  # what was known is the size of another communicator
        comm.size = None
    return comm


def _elements(name: str, given: str | None, taken: str | None) -> int | None:
    """Those that must be equal on all ranks. Of a coalesced operation only the sum of its sizes is known: where it
    gathers or scatters, all ranks give and take in one proportion; of sends and receives they need not.
    """
    if given is None or taken is None:
        return None
    if name == COALESCED:
        few, many = sorted((int(given), int(taken)))
        return int(given) if few and few < many and many % few == 0 else None
    side = SIDES.get(name)
    return int(given if side == "input" else taken) if side else None


def _group_size(name: str, given: str | None, taken: str | None) -> int:
    """How many ranks the group has, by an operation in shares: PyTorch takes no other sizes; 0 if unknown."""
    few, many = sorted((int(given or 0), int(taken or 0)))
    fits = name in IN_SHARES and few and many % few == 0 and many // few <= MOST
    return many // few if fits else 0


def _who(text: str, found: re.Match[str]) -> _Who:
    """Who says what was found: torchrun puts the rank in the job before the line, a group numbers its own from 0."""
    begin = text.rfind("\n", 0, found.start()) + 1
    said = list(WHO.finditer(text, begin, found.start()))
    in_job = RANK_IN_JOB.findall(text, begin, found.start())
    rank = int(in_job[-1]) if in_job else int(said[-1]["rank"]) if said else -1
    group, about = next(((one["group"], one["about"] or "") for one in reversed(said) if one["group"]), ("", ""))
    of_group = not in_job or not said or int(said[-1]["rank"]) == rank
    return _Who(rank, group, one_line(about), of_group)


def _since(text: str, ran_ms: int) -> str:
    """Month, day and time at which an operation began, by the log's clock; "" where its line has no time."""
    times = TIME.findall(text)
    with suppress(ValueError, OverflowError):
        if times and ran_ms:
            month, day = divmod(int(times[-1][0]), 100)
            ended = datetime.strptime(f"2000-{month:02}-{day:02} {times[-1][1]}", "%Y-%m-%d %H:%M:%S")  # a leap year
            return f"{ended - timedelta(milliseconds=ran_ms):%m-%d %H:%M:%S}"
    return ""
