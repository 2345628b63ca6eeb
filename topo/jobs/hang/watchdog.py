# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's watchdogs gave up on, each in its rank's log: an operation, since when, and the process group.

    [rank3]:[E603 17:48:01.0 ...] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, ...) ...
    [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 41 PG status: ...

Source: PyTorch's ProcessGroupNCCL.cpp, 2.2 to 2.8.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.topo.jobs.hang.agreement import SIDES
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Track

SOURCE = "watchdog"
WORLD = "default_pg"
"""What PyTorch says of the group of all ranks."""
RANK_IN_JOB = re.compile(r"\[rank(\d{1,7})\]:")
GIVEN_UP = re.compile(
    r"Rank (?P<rank>\d{1,7})\]\s*Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d{1,18}), "
    r"OpType=(?P<name>\w{1,64})(?:, NumelIn=(?P<input>\d{1,18}), NumelOut=(?P<output>\d{1,18}))?"
    r".*? ran for (?P<ms>\d{1,12}) milliseconds"
)
GROUP = re.compile(
    r"PG GUID (?P<group>[^\s(\]]{1,128})(?:\((?P<about>[^)]{0,128})\))? Rank (?P<rank>\d{1,7})\]\s*failure detected "
    r"by watchdog at work sequence id: (?P<number>\d{1,18})"
    r"(?: PG status: last enqueued work: (?P<enqueued>-?\d{1,18}))?"
)
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


@dataclass(slots=True)
class _Stuck:
    """What a watchdog gave up on; the line about its group comes after that."""

    call: Call
    group: str = ""
    about: str = ""
    enqueued: int = 0


class Watchdogs:
    """Reads the lines of watchdogs."""

    def __init__(self) -> None:
        self._stuck: dict[tuple[int, int], _Stuck] = {}  # by rank and number

    def read(self, text: str) -> bool:
        """Read a line; whether it was a watchdog's."""
        if found := GIVEN_UP.search(text):
            self._given_up(text, found)
        elif found := GROUP.search(text):
            self._group(text, found)
        return found is not None

    def put(self, scene: JobState, job_size: int | None) -> None:
        """Add their facts to a scene; job_size: how many ranks the job has, where that is known.

        Otherwise a rank that is missing among others shows that it has at least those.
        """
        in_world = {rank for (rank, _), stuck in self._stuck.items() if stuck.about == WORLD}
        if job_size is None and len(in_world) < max(in_world, default=-1) + 1:
            job_size = max(in_world) + 1
        for (rank, _), stuck in self._stuck.items():
            _put_stuck(scene, rank, stuck, job_size)

    def _given_up(self, text: str, found: re.Match[str]) -> None:
        number = int(found["number"])
        name = WORDS.get(found["name"], found["name"].lower())
        side = SIDES.get(name)
        call = Call(
            number=number,
            name=name,
            state=State.SCHEDULED,
            elements=int(found[side]) if side and found[side] else None,
            since=_since(text, int(found["ms"])),
            timed_out=True,
        )
        self._stuck[_rank(text, found), number] = _Stuck(call)

    def _group(self, text: str, found: re.Match[str]) -> None:
        stuck = self._stuck.get((_rank(text, found), int(found["number"])))
        if stuck:
            stuck.group, stuck.about = found["group"], found["about"] or ""
            stuck.enqueued = int(found["enqueued"] or 0)


def _put_stuck(scene: JobState, rank: int, stuck: _Stuck, job_size: int | None) -> None:
    call = stuck.call
    if call.name in ("send", "recv"):
        scene.note(f"the watchdog of rank {rank} gave up on {call.name} #{call.number}")
        return
    comm = _group_of(scene, rank, stuck, job_size)
    track = Track(max(stuck.enqueued, call.number), call.number - 1, {call.number: call})
    if not comm.lane().put(rank, track):
        scene.note(f"{comm.title}: the sources disagree on the operation of rank {rank}")


def _group_of(scene: JobState, rank: int, stuck: _Stuck, job_size: int | None) -> JobCommunicator:
    """The process group: one from flight records that has this rank, if any."""
    known = [one for one in scene.communicators.values() if one.numbering == JOB and one.id == stuck.group]
    for comm in known:
        if rank in comm.members or not comm.ranks:
            comm.sources[SOURCE] = None
            return comm
    size = job_size if stuck.about == WORLD else None
    told = JobCommunicator(stuck.group or "without a name", "process group", stuck.about, JOB, size)
    return scene.communicator(f"group {stuck.group}", SOURCE, told)


def _rank(text: str, found: re.Match[str]) -> int:
    """The rank in the job, which torchrun puts before the line; the group's own numbers its ranks from 0."""
    in_job = RANK_IN_JOB.search(text, 0, found.start())
    return int(in_job[1]) if in_job else int(found["rank"])


def _since(text: str, ran_ms: int) -> str:
    """Month, day and time at which an operation began, by the log's clock; "" where its line has no time."""
    found = TIME.search(text)
    with suppress(ValueError, OverflowError):
        if found:
            month, day = divmod(int(found[1]), 100)
            ended = datetime.strptime(f"2000-{month:02}-{day:02} {found[2]}", "%Y-%m-%d %H:%M:%S")  # a leap year
            return f"{ended - timedelta(milliseconds=ran_ms):%m-%d %H:%M:%S}"
    return ""
