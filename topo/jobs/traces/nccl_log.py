# SPDX-License-Identifier: Apache-2.0
"""The operations in logs of NCCL with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL.

    AllReduce: opCount 29 sendbuff ... count 1024 datatype 7 op 0 root 0 comm 0x55 [nranks=8] stream 0x...

The lines on the start of communicators have the ranks; the largest communicator, the first of its size, has those of
the job. Sends and receives of one group call have one opCount: with several others in both directions they are an
all-to-all (of any lengths), to the next rank and from the previous one a send-receive; others are messages. Sources:
NCCL's src/enqueue.cc, src/init.cc.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from railgauge.topo.errors import InputError
from railgauge.topo.files.lines import LONGEST, lines_saying, whole_lines
from railgauge.topo.jobs.hang.rank_log import BETWEEN_PEERS, CALL, DTYPES, OPERATORS, REDUCING, Place
from railgauge.topo.jobs.logs.communicator_names import INIT, CommunicatorNames
from railgauge.topo.jobs.logs.line import LogLine, messages
from railgauge.topo.jobs.traces.calls import RankCalls
from railgauge.topo.jobs.traces.trace import MOST_OPERATIONS, MOST_RANKS, Source, Trace, TracedGroup
from railgauge.topo.nccl.settings.algorithm import Collective

KIND = "NCCL log"
TELLING = b"opCount ", b"Init START", b"Init COMPLETE"
NO_START = "no start of the communicator in the log, which NCCL_DEBUG_SUBSYS=INIT,COLL gives"
SIZE = re.compile(r"\[nranks=(\d{1,7})\]")
SOME = 2
"""Ranks with which a rank exchanges in an all-to-all."""
WHOLE = ("AllReduce", "Broadcast", "Reduce", "Send", "Recv")
"""Operations of which NCCL's count is that of all elements; others count those of one rank for one other."""


_Device = tuple[str, str]
"""Host, and bus id, or process and device: one GPU of the job."""


@dataclass(frozen=True, slots=True)
class _Member:
    comm: str
    rank: int
    size: int
    device: _Device


@dataclass(frozen=True, slots=True)
class _Call:
    place: Place
    name: str
    number: int
    count: int
    dtype: str
    redop: str
    root: int
    size: int


@dataclass(slots=True)
class _Messages:
    """The sends and receives of one group call: elements by peer."""

    first: _Call
    send: dict[int, int] = field(default_factory=dict)
    recv: dict[int, int] = field(default_factory=dict)


class NcclLogReader:
    """Reads logs, of one or many ranks, one after the other or mixed."""

    def __init__(self) -> None:
        self._members: dict[Place, _Member] = {}
        self._names = CommunicatorNames()
        self._calls: list[_Call] = []
        self._ranks: dict[str, tuple[int, ...]] = {}
        self._homes: dict[Place, Place] = {}

    def read(self, blocks: Iterable[bytes], path: str) -> bool:
        """Read a log; whether it has operations."""
        before = len(self._calls)
        for block in whole_lines(blocks):
            for begin in lines_saying(TELLING, block):
                end = block.find(b"\n", begin)
                for line in messages(block[begin : min(end if end >= 0 else len(block), begin + LONGEST)]):
                    self._take(line)
            if len(self._calls) > MOST_OPERATIONS:
                raise InputError(f"more than {MOST_OPERATIONS} operations: give a part of the log", path)
        return len(self._calls) > before

    def put(self, trace: Trace) -> None:
        """Add the operations of all logs to a trace."""
        if not self._calls:
            return
        trace.kinds.add(KIND)
        largest, world = self._world()
        trace.world = max(trace.world, largest.size if largest else 0)
        calls: dict[Source, RankCalls] = {}
        open_messages: dict[Place, _Messages] = {}
        for call in map(self._at_home, self._calls):
            if call.place not in self._members and not call.size:
                trace.leave_out(NO_START)
                continue
            source = self._source(call.place, world)
            of = calls.setdefault(source, RankCalls(trace, source, KIND))
            group = self._group(call, largest, world)
            held = open_messages.get(call.place)
            if held and (call.name not in BETWEEN_PEERS or held.first.number != call.number):
                self._put_messages(open_messages.pop(call.place), group, of)
            if call.name in BETWEEN_PEERS:
                held = open_messages.setdefault(call.place, _Messages(call))
                side = held.send if call.name == "Send" else held.recv
                side[call.root] = side.get(call.root, 0) + call.count
            else:
                _put(call, group, of)
        for place, held in open_messages.items():
            self._put_messages(held, self._group(held.first, largest, world), calls[self._source(place, world)])

    def _take(self, line: LogLine) -> None:
        text = line.text
        if found := CALL.search(text):
            dtype, op = int(found["dtype"]), int(found["op"])
            size = SIZE.search(text, found.end())
            self._calls.append(
                _Call(
                    (line.host, line.pid, found["pointer"]),
                    found["name"],
                    int(found["number"], 16),
                    int(found["count"]),
                    DTYPES[dtype] if dtype < len(DTYPES) else f"number {dtype}",
                    OPERATORS[op] if op < len(OPERATORS) and found["name"] in REDUCING else "sum",
                    int(found["root"]),
                    int(size[1]) if size else 0,
                )
            )
        elif found := INIT.search(text):
            device = found["bus_id"] or f"{line.pid} {found['device'] or line.device}"
            name = self._names.name(line.host, line.pid, found)
            place = line.host, line.pid, found["pointer"]
            self._members[place] = _Member(name, int(found["rank"]), int(found["size"]), (line.host, device))

    def _world(self) -> tuple[_Member | None, dict[_Device, int]]:
        """A member of the largest communicator, and the rank in it of each GPU."""
        largest = max(self._members.values(), key=lambda one: one.size, default=None)
        return largest, {one.device: one.rank for one in self._members.values() if largest and one.comm == largest.comm}

    def _at_home(self, call: _Call) -> _Call:
        """The call with its communicator's place: a host's name may have the end of another line before it."""
        host, pid, pointer = call.place
        if call.place in self._members:
            return call
        if call.place not in self._homes:
            near = (one for one in self._members if one[1:] == (pid, pointer) and host.endswith(one[0]))
            self._homes[call.place] = next(near, call.place)
        return replace(call, place=self._homes[call.place])

    def _source(self, place: Place, world: dict[_Device, int]) -> Source:
        member = self._members.get(place)
        found = world.get(member.device) if member else None
        return " ".join(map(str, place)) if found is None else found

    def _group(self, call: _Call, largest: _Member | None, world: dict[_Device, int]) -> TracedGroup:
        """The communicator of a call, with its ranks in the job if all are known."""
        member = self._members.get(call.place)
        size = member.size if member else call.size
        if largest and size == largest.size:
            name = member.comm if member else largest.comm
            return TracedGroup(name=name, size=size, ranks=_first(size))
        if member is None:
            return TracedGroup(name=f"{size} ranks", size=size)
        if member.comm not in self._ranks:
            by_rank = {one.rank: world.get(one.device) for one in self._members.values() if one.comm == member.comm}
            known = tuple(rank for _, rank in sorted(by_rank.items()) if rank is not None)
            self._ranks[member.comm] = known if len(known) == size else ()
        return TracedGroup(name=member.comm, size=size, ranks=self._ranks[member.comm])

    def _put_messages(self, held: _Messages, group: TracedGroup, calls: RankCalls) -> None:
        call, member = held.first, self._members.get(held.first.place)
        own = {member.rank} if member else set()
        most = max(sum(held.send.values()), sum(held.recv.values()))
        others = [side.keys() - own for side in (held.send, held.recv)]
        with_itself = own <= held.send.keys() & held.recv.keys() if own else len(held.send) == group.size
        if all(len(peers) >= SOME for peers in others) or (group.size == SOME and all(others) and with_itself):
            calls.take(Collective.ALL_TO_ALL, (most, 0), call.dtype, group)
            return
        around = [(member.rank + step) % group.size for step in (1, -1)] if member else []
        if [list(side) for side in (held.send, held.recv)] == [[rank] for rank in around]:
            calls.take(Collective.SEND_RECV, (most, 0), call.dtype, group)
            return
        for sends, told in ((True, held.send), (False, held.recv)):
            for peer, size in told.items():
                calls.take("send", (size, 0), call.dtype, group, peers=_ends(member, peer, group, sends=sends))


@cache
def _first(ranks: int) -> tuple[int, ...]:
    """So many ranks, the first of the job; none beyond MOST_RANKS."""
    return tuple(range(ranks)) if ranks <= MOST_RANKS else ()


def _ends(member: _Member | None, peer: int, group: TracedGroup, *, sends: bool) -> tuple[int, int] | None:
    if member is None or not group.ranks or peer >= len(group.ranks):
        return None
    own, other = group.ranks[member.rank], group.ranks[peer]
    return (own, other) if sends else (other, own)


def _put(call: _Call, group: TracedGroup, calls: RankCalls) -> None:
    whole = call.count if call.name in WHOLE else call.count * group.size
    sides = (0, whole) if call.name in ("AllGather", "Gather") else (whole, 0)
    calls.take(call.name, sides, call.dtype, group, redop=call.redop, root=call.root)
