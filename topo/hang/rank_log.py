# SPDX-License-Identifier: Apache-2.0
"""Logs of a stuck job's ranks: who has come through the start of a communicator, the last collectives that each called,
and what PyTorch's watchdog gave up on.

    ncclCommInitRank comm 0x55 rank 3 nranks 8 cudaDev 3 ... commId 0xc0ffee - Init START       and Init COMPLETE
    AllReduce: opCount 29 sendbuff ... count 1024 datatype 7 op 0 root 0 comm 0x55 [nranks=8]   opCount in hex, from 0
    [rank3]:[E603 17:48:01.0 ...] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, ...) ...
    [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 41 PG status: ...

NCCL tells the second with NCCL_DEBUG_SUBSYS=INIT,COLL, and not when an operation is over. Sources: NCCL's
src/init.cc and src/enqueue.cc; PyTorch's ProcessGroupNCCL.cpp, 2.2 to 2.8.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.topo.hang.model import JOB, Call, Communicator, Scene, State, Status, Track
from railgauge.topo.logs.communicator_names import INIT, CommunicatorNames
from railgauge.topo.logs.line import Line, messages
from railgauge.topo.logs.log import BOOTSTRAP
from railgauge.topo.logs.scan import lines_with, whole_lines

SOURCE = "NCCL log"
WATCHDOG = "watchdog"
TELLING = (
    re.compile(rb"opCount [0-9a-f]|Init (?:START|COMPLETE)|(?:Destroy|Abort) COMPLETE|Bootstrap *: Using|atchdog "),
)
CALL = re.compile(
    r"\b(?P<name>[A-Z]\w+): opCount (?P<number>[0-9a-f]{1,16}) .*?\bcount (?P<count>\d{1,19}) "
    r"datatype (?P<dtype>\d{1,3}) op (?P<op>\d{1,20}) root (?P<root>\d{1,7}) comm (?P<pointer>0x[0-9a-f]+)"
)
RANK_IN_JOB = re.compile(r"\[rank(\d{1,7})\]:")
GIVEN_UP = re.compile(
    r"Rank (?P<rank>\d{1,7})\]\s*Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d{1,18}), "
    r"OpType=(?P<name>\w{1,64})(?:, NumelIn=(?P<count>\d{1,18}))?.*? ran for (?P<ms>\d{1,12}) milliseconds"
)
GROUP = re.compile(
    r"PG GUID (?P<group>[^\s(\]]{1,128})(?:\((?P<about>[^)]{0,128})\))? Rank (?P<rank>\d{1,7})\]\s*failure detected "
    r"by watchdog at work sequence id: (?P<number>\d{1,18})"
    r"(?: PG status: last enqueued work: (?P<enqueued>-?\d{1,18}))?"
)
TIME = re.compile(r"\[E(\d{3,4}) (\d\d:\d\d:\d\d)")
"""Month and day, and the time of day, of a line of PyTorch."""
DTYPES = (
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "half",
    "float",
    "double",
    "bfloat16",
    "f8e4m3",
    "f8e5m2",
)
OPERATORS = ("sum", "prod", "max", "min", "avg")
REDUCING, ROOTED = ("AllReduce", "Reduce", "ReduceScatter"), ("Broadcast", "Reduce", "Gather", "Scatter")
BETWEEN_PEERS = ("Send", "Recv")
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
NONE = -1
"""The number of the last operation of a rank that has called none."""
KEPT = 64
"""The last calls of each rank and communicator that are kept."""
Place = tuple[str, int, str]
"""Host, process and pointer: a rank's communicator."""


@dataclass(slots=True)
class _Member:
    """What a rank said of itself in a communicator."""

    comm: str
    rank: int
    size: int
    host: str
    status: Status


@dataclass(slots=True)
class _Stuck:
    """What a watchdog gave up on; the line about its group comes after that."""

    call: Call
    group: str = ""
    about: str = ""
    enqueued: int = 0


class RankLog:
    """Reads logs, of one or many ranks, one after the other or mixed."""

    def __init__(self) -> None:
        self._members: dict[Place, _Member] = {}
        self._names = CommunicatorNames()
        self._calls: dict[Place, dict[int, Call]] = {}
        self._stuck: dict[tuple[int, int], _Stuck] = {}
        self._bootstraps: dict[str, str] = {}

    def read(self, blocks: Iterable[bytes]) -> bool:
        """Take in a log; whether anything in it tells where a rank stands."""
        told = False
        for block in whole_lines(blocks):
            for raw in lines_with(TELLING, block):
                for line in messages(raw):
                    told = self._take(line) or told
        return told

    def put(self, scene: Scene) -> None:
        """Add what the logs tell to a scene."""
        scene.bootstraps |= self._bootstraps
        uncounted = self._with_peers()
        for place, member in self._members.items():
            self._put_member(scene, place, member, counted=bool(self._calls) and member.comm not in uncounted)
        for comm in uncounted:
            scene.note(
                f"communicator {comm}: its ranks also send to each other, which NCCL counts along, so that the numbers "
                "of its operations in the logs are not the same on all ranks"
            )
        if self._calls.keys() - self._members.keys():
            scene.note(
                "the logs have collectives of communicators whose start is not in them, so that the rank is unknown: "
                "NCCL_DEBUG_SUBSYS=INIT,COLL tells both"
            )
        for (rank, _), stuck in self._stuck.items():
            _put_stuck(scene, rank, stuck, max((member.size for member in self._members.values()), default=None))

    def _take(self, line: Line) -> bool:
        text = line.text
        if found := CALL.search(text):
            self._call(line, found)
        elif found := INIT.search(text):
            self._member(line, found)
        elif found := BOOTSTRAP.search(text):
            self._bootstraps[line.host] = f"{found[1]} {found[2]}"
        elif found := GIVEN_UP.search(text):
            self._given_up(text, found)
        elif found := GROUP.search(text):
            self._group(text, found)
        return found is not None

    def _member(self, line: Line, found: re.Match[str]) -> None:
        place = line.host, line.pid, found["pointer"]
        starts = "Init START" in line.text
        status = Status.STARTING if starts else Status.RUNNING if "Init COMPLETE" in line.text else Status.LEFT
        if starts:
            self._calls.pop(place, None)  # the pointer may have been another communicator's before
        comm = self._names.name(line.host, line.pid, found)
        self._members[place] = _Member(comm, int(found["rank"]), int(found["size"]), line.host, status)

    def _call(self, line: Line, found: re.Match[str]) -> None:
        name, dtype, op = found["name"], int(found["dtype"]), int(found["op"])
        operator = OPERATORS[op] if op < len(OPERATORS) else "its own operator"
        number = int(found["number"], 16)
        calls = self._calls.setdefault((line.host, line.pid, found["pointer"]), {})
        calls[number] = Call(
            number=number,
            name=name,
            state=State.CALLED,
            elements=int(found["count"]),
            dtype=DTYPES[dtype] if dtype < len(DTYPES) else f"type {dtype}",
            op=operator if name in REDUCING else "",
            root=int(found["root"]) if name in ROOTED else None,
        )
        if len(calls) > KEPT:
            del calls[next(iter(calls))]

    def _given_up(self, text: str, found: re.Match[str]) -> None:
        number, name = int(found["number"]), found["name"]
        call = Call(
            number=number,
            name=WORDS.get(name, name.lower()),
            state=State.SCHEDULED,
            since=_since(text, int(found["ms"])),
            timed_out=True,
        )
        self._stuck[_rank(text, found), number] = _Stuck(call)

    def _group(self, text: str, found: re.Match[str]) -> None:
        stuck = self._stuck.get((_rank(text, found), int(found["number"])))
        if stuck:
            stuck.group, stuck.about = found["group"], found["about"] or ""
            stuck.enqueued = int(found["enqueued"] or 0)

    def _put_member(self, scene: Scene, place: Place, member: _Member, *, counted: bool) -> None:
        comm = scene.communicator(member.comm, SOURCE, size=member.size)
        comm.size = comm.size or member.size
        comm.nodes.setdefault(member.rank, member.host)
        comm.status[member.rank] = member.status
        if counted and member.status is Status.RUNNING:
            calls = self._calls.get(place, {})
            comm.lane().put(member.rank, Track(max(calls, default=NONE), None, calls))

    def _with_peers(self) -> set[str]:
        """The communicators in which a rank has sent or received."""
        return {
            self._members[place].comm
            for place, calls in self._calls.items()
            if place in self._members and any(call.name in BETWEEN_PEERS for call in calls.values())
        }


def _put_stuck(scene: Scene, rank: int, stuck: _Stuck, job_size: int | None) -> None:
    call = stuck.call
    if call.name in ("send", "recv"):
        scene.note(f"the watchdog of rank {rank} gave up on {call.name} #{call.number}")
        return
    comm = _group_of(scene, rank, stuck, job_size)
    track = Track(max(stuck.enqueued, call.number), call.number - 1, {call.number: call})
    if not comm.lane().put(rank, track):
        scene.note(f"{comm.title}: the sources do not agree on which operation rank {rank} is in")


def _group_of(scene: Scene, rank: int, stuck: _Stuck, job_size: int | None) -> Communicator:
    """The process group: one that flight records tell of, where there is such with this rank in it."""
    known = [one for one in scene.communicators.values() if one.numbering == JOB and one.id == stuck.group]
    for comm in known:
        if rank in comm.members or not comm.ranks:
            comm.sources[WATCHDOG] = None
            return comm
    about, size = stuck.about, job_size if stuck.about == "default_pg" else None
    told = {
        "kind": "process group",
        "id": stuck.group or "without a name",
        "about": about,
        "numbering": JOB,
        "size": size,
    }
    return scene.communicator(f"group {stuck.group}", WATCHDOG, **told)


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
