# SPDX-License-Identifier: Apache-2.0
"""Logs of a stuck job's ranks: who has come through the start of a communicator, and the last collectives of each.

    ncclCommInitRank comm 0x55 rank 3 nranks 8 cudaDev 3 ... commId 0xc0ffee - Init START       and Init COMPLETE
    AllReduce: opCount 29 sendbuff ... count 1024 datatype 7 op 0 root 0 comm 0x55 [nranks=8]   opCount in hex, from 0

NCCL tells the second with NCCL_DEBUG_SUBSYS=INIT,COLL, and not when an operation is over. PyTorch's watchdogs write
into the same log. Sources: NCCL's src/init.cc and src/enqueue.cc.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.topo.files.lines import LONGEST, lines_saying, whole_lines
from railgauge.topo.jobs.hang.fingerprints import Fingerprints
from railgauge.topo.jobs.hang.fr_trace import FrTrace
from railgauge.topo.jobs.hang.horovod import HorovodStalls
from railgauge.topo.jobs.hang.model import Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.jobs.hang.torch_reports import TorchReports
from railgauge.topo.jobs.hang.watchdog import Watchdogs
from railgauge.topo.jobs.logs.communicator_names import INIT, CommunicatorNames
from railgauge.topo.jobs.logs.line import LogLine, messages
from railgauge.topo.jobs.logs.log import BOOTSTRAP

SOURCE = "NCCL log"
TELLING = b"opCount ", b"Init START", b" COMPLETE", b"Bootstrap"
"""Words of the lines that are read."""
CALL = re.compile(
    r"\b(?P<name>[A-Z]\w+): opCount (?P<number>[0-9a-f]{1,16}) .*?\bcount (?P<count>\d{1,19}) "
    r"datatype (?P<dtype>\d{1,3}) op (?P<op>\d{1,20}) root (?P<root>\d{1,7}) comm (?P<pointer>0x[0-9a-f]+)"
)
BEFORE = r"([!#-+\x2d-9;-\\^_a-~]{1,255}):(\d{1,9}):\d{1,9} \[\d{1,3}\] NCCL INFO "
ALONE = re.compile((BEFORE + re.sub(r"\?P<\w+>", "", CALL.pattern)).encode())
"""A line of one call and nothing else, as nearly all of a log with calls are: what CALL finds in it, faster."""
HEADER = b"CCL INFO "
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
"""In the order of nccl.h's ncclDataType_t; the next of ncclRedOp_t."""
OPERATORS = ("sum", "prod", "max", "min", "avg")
REDUCING, ROOTED = ("AllReduce", "Reduce", "ReduceScatter"), ("Broadcast", "Reduce", "Gather", "Scatter")
BETWEEN_PEERS = ("Send", "Recv")
NONE = -1
"""The number of the last operation of a rank that has called none."""
KEPT = 64
"""The last calls of each rank and communicator that are kept."""
Place = tuple[str, int, str]
"""Host, process and pointer: a rank's communicator."""
Told = tuple[str, str | bytes, str | bytes, str | bytes, str | bytes, str | bytes]
"""What a line says of a call: name, number, count, type, operator and root."""


@dataclass(slots=True)
class _Member:
    """The facts that a rank logged about itself in a communicator."""

    comm: str
    rank: int
    size: int
    host: str
    status: Status


class RankLog:
    """Reads logs, of one or many ranks, one after the other or mixed."""

    def __init__(self) -> None:
        self._members: dict[Place, _Member] = {}
        self._names = CommunicatorNames()
        self._calls: dict[Place, dict[int, Told]] = {}
        self._with_peers: set[Place] = set()
        self._watchdogs = Watchdogs()
        self._reports = TorchReports()
        self._stalls = HorovodStalls()
        self._analysed = FrTrace()
        self._fingerprints = Fingerprints()
        self._bootstraps: dict[str, str] = {}

    def read(self, blocks: Iterable[bytes]) -> bool:
        """Read a log; whether it shows the state of any rank."""
        told = False
        for block in whole_lines(blocks):
            told = self._watchdogs.read(block) or told
            told = self._reports.read(block) or told
            told = self._stalls.read(block) or told
            told = self._analysed.read(block) or told
            told = self._fingerprints.read(block) or told
            for begin in lines_saying(TELLING, block):
                end = block.find(b"\n", begin)
                raw = block[begin : min(end if end >= 0 else len(block), begin + LONGEST)]
                if (found := ALONE.match(raw)) and raw.count(HEADER) == 1:
                    host, pid, name, number, count, dtype, op, root, pointer = found.groups()
                    terms = name.decode(), number, count, dtype, op, root
                    self._call((host.decode(), int(pid), pointer.decode()), terms)
                    told = True
                    continue
                for line in messages(raw):
                    told = self._take(line) or told
        return told

    def put(self, scene: JobState) -> None:
        """Add the logs' facts to a scene."""
        scene.bootstraps |= self._bootstraps
        uncounted = {member.comm for place, member in self._members.items() if place in self._with_peers}
        for place, member in self._members.items():
            self._put_member(scene, place, member, counted=bool(self._calls) and member.comm not in uncounted)
        for comm in sorted(uncounted):
            scene.note(
                f"communicator {comm}: its ranks also send to each other, which NCCL counts as well: the numbers "
                "of its operations in the logs differ between ranks"
            )
        if self._calls.keys() - self._members.keys():
            scene.note(
                "the logs have collectives of communicators without their start, so the rank is unknown; set "
                "NCCL_DEBUG_SUBSYS=INIT,COLL to log both"
            )
        self._watchdogs.put(scene, max((member.size for member in self._members.values()), default=scene.size))
        self._reports.put(scene)
        self._stalls.put(scene)
        self._analysed.put(scene)
        self._fingerprints.put(scene)

    def _take(self, line: LogLine) -> bool:
        text = line.text
        if found := CALL.search(text):
            name, number, count, dtype, op, root, pointer = found.groups()
            self._call((line.host, line.pid, pointer), (name, number, count, dtype, op, root))
        elif found := INIT.search(text):
            self._member(line, found)
        elif found := BOOTSTRAP.search(text):
            self._bootstraps[line.host] = f"{found[1]} {found[2]}"
        else:
            return False
        return True

    def _member(self, line: LogLine, found: re.Match[str]) -> None:
        place = line.host, line.pid, found["pointer"]
        starts = "Init START" in line.text
        status = Status.STARTING if starts else Status.RUNNING if "Init COMPLETE" in line.text else Status.LEFT
        if starts:
            self._calls.pop(place, None)  # the pointer may have been another communicator's before
            self._with_peers.discard(place)
        comm = self._names.name(line.host, line.pid, found)
        self._members[place] = _Member(comm, int(found["rank"]), int(found["size"]), line.host, status)

    def _call(self, place: Place, told: Told) -> None:
        if told[0] in BETWEEN_PEERS:
            self._with_peers.add(place)
            return
        calls = self._calls.setdefault(place, {})
        calls[int(told[1], 16)] = told
        if len(calls) > KEPT:
            del calls[next(iter(calls))]

    def _put_member(self, scene: JobState, place: Place, member: _Member, *, counted: bool) -> None:
        comm = scene.communicator(member.comm, SOURCE, JobCommunicator(member.comm, size=member.size))
        comm.nodes.setdefault(member.rank, member.host)
        comm.status[member.rank] = member.status
        if counted and member.status is Status.RUNNING:
            calls = {number: _as_call(number, told) for number, told in self._calls.get(place, {}).items()}
            comm.lane().put(member.rank, Track(max(calls, default=NONE), None, calls))


def _as_call(number: int, told: Told) -> Call:
    name, dtype, op = told[0], int(told[3]), int(told[4])
    operator = OPERATORS[op] if op < len(OPERATORS) else "its own operator"
    return Call(
        number=number,
        name=name,
        state=State.CALLED,
        elements=int(told[2]),
        dtype=DTYPES[dtype] if dtype < len(DTYPES) else f"type {dtype}",
        op=operator if name in REDUCING else "",
        root=int(told[5]) if name in ROOTED else None,
    )
