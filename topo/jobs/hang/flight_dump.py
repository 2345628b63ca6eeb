# SPDX-License-Identifier: Apache-2.0
"""The flight recorder's dump of one rank of a PyTorch job: its last operations in each process group.

`nccl_trace_rank_7`, or what TORCH_FR_DUMP_TEMP_FILE names: a pickle; or JSON of the same fields
(`_dump_nccl_trace_json`).
Source: PyTorch's torch/csrc/distributed/c10d/FlightRecorder*.hpp, versions 2.0 to 2.10 of the format.

- `collective_seq_id` numbers a group's collectives, equal on all ranks; the ring keeps the last entries of all groups.
- An operation inside a coalesced group stays "scheduled" for ever: the entry that closes the group has its state.
- Under CUDA graphs entries stay "scheduled" too: all up to the last one that is completed are over.
- "started" is known only with TORCH_NCCL_ENABLE_TIMING=1. An entry that is retired and not completed has timed out.
"""

import json
import re
import time
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.agreement import agreed, plain
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.values.printable import one_line

SOURCE = "flight recorder"
RANK = re.compile(r"(\d{1,7})(?:\.(?:json|pkl|pickle|bin))?$")
PEERS = re.compile(r"(\d{1,7})(->|<-)(\d{1,7})")
NOBODY = (-1, -1)
"""Peers of what closes a group of sends and receives."""
COALESCED = "coalesced"
BEFORE, AHEAD = 8, 64
"""Operations that are kept of a rank and group: so many before the first that is not over, and so many from it on."""
MOST_RANKS = 1 << 20
LONGEST = 200  # of what is said about a damaged dump


class _Group(NamedTuple):
    name: str
    about: str


class _Entry(NamedTuple):
    """An entry, checked. peers: who sends and who receives, by their ranks in the group; None of a collective."""

    group: _Group
    number: int
    peers: tuple[int, int] | None
    call: Call


def rank_of(name: str, path: str) -> int:
    """The rank that a file's name ends with; InputError if it does not."""
    found = RANK.search(name)
    if not found:
        raise InputError("a flight record's name ends with the rank (nccl_trace_rank_7): not so here", path)
    return int(found[1])


class FlightDumps:
    """Reads the dumps of a job's ranks into a scene."""

    def __init__(self, scene: JobState) -> None:
        self._scene = scene
        self._whole: dict[int, bool] = {}  # by rank: whether its ring has lost nothing

    def read(self, dump: dict[str, Any], rank: int, path: str) -> None:
        """Read the dump of a rank; InputError if it is invalid, or the second of that rank."""
        if rank in self._whole:
            raise InputError(f"a second dump of rank {rank}: give only the dumps of one hang", path)
        try:
            groups = {plain(name): _members(told) for name, told in dump["pg_config"].items()}
            raw = dump.get("entries") or []
            entries = _closed([_entry(one) for one in raw])
            whole = int(raw[0]["record_id"]) == 0 if raw else not dump.get("pg_status")
        except KeyError as error:
            raise InputError(f"not a flight record of PyTorch: field {error} is missing", path) from None
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError, OSError) as error:
            raise InputError(f"not a flight record of PyTorch: {one_line(str(error))[:LONGEST]}", path) from None
        self._whole[rank] = whole
        by_group: dict[str, list[_Entry]] = {}
        for entry in entries:
            by_group.setdefault(entry.group.name, []).append(entry)
        for name in {**groups, **by_group}:
            about, ranks = groups.get(name, ("", ()))
            some = by_group.get(name, [])
            about = some[-1].group.about if some and not about else about
            _put(_communicator(self._scene, name, "" if about == "undefined" else about, ranks), rank, some)

    def close(self) -> None:
        """Once all dumps are read: ranks that have one and called nothing in a group, or towards a peer, stand at 0.

        Of a ring that has lost entries nothing is known about a group that it holds none of.
        """
        for comm in self._scene.communicators.values():
            if SOURCE not in comm.sources:
                continue
            for rank in comm.members:
                if rank in self._whole:
                    comm.status[rank] = Status.RUNNING
                if self._whole.get(rank):
                    comm.lane().tracks.setdefault(rank, Track(0, 0))
            for lane in comm.lanes.values():
                for rank in lane.peers or ():
                    if rank in self._whole:
                        lane.tracks.setdefault(rank, Track(0, 0))


def _communicator(scene: JobState, name: str, about: str, ranks: tuple[int, ...]) -> JobCommunicator:
    """Groups that were split off one another may have the same name; their ranks distinguish them."""
    known = scene.communicators.get(f"group {name}")
    key = f"group {name}" if known is None or known.ranks in ((), ranks) else f"group {name} {ranks}"
    return scene.communicator(key, SOURCE, JobCommunicator(name, "process group", about, JOB, ranks=ranks))


def _put(comm: JobCommunicator, rank: int, entries: list[_Entry]) -> None:
    collectives = [one for one in entries if one.peers is None]
    if collectives:
        comm.lane().put(rank, _track(collectives))
    waiting: dict[tuple[int, int], list[Call]] = {}
    for one in entries:
        if one.peers and one.call.state is not State.COMPLETED:
            waiting.setdefault(one.peers, []).append(one.call)
    for peers, calls in waiting.items():
        source, target = (comm.ranks[peer] if peer < len(comm.ranks) else peer for peer in peers)
        lane = comm.lane(f"{source}->{target}")
        lane.peers = source, target
        kept = {number: call._replace(number=number) for number, call in enumerate(calls[:AHEAD], 1)}
        lane.put(rank, Track(len(calls), 0, kept))


def _track(entries: list[_Entry]) -> Track:
    calls = {one.number: one.call for one in entries}
    over = [number for number, call in calls.items() if call.state is State.COMPLETED]
    completed = max(over, default=min(calls) - 1)
    kept = {number: call for number, call in calls.items() if -BEFORE < number - completed <= AHEAD}
    return Track(max(calls), completed, kept)


def _members(told: dict[str, Any]) -> tuple[str, tuple[int, ...]]:
    """What a group is for, and its ranks: a text `[0, 1, 2]`, or a list."""
    listed = told["ranks"]
    ranks = json.loads(listed) if isinstance(listed, str) else listed
    if len(ranks) > MOST_RANKS:
        raise ValueError(f"a group of {len(ranks)} ranks")
    return plain(told["desc"]), tuple(int(rank) for rank in ranks)


def _entry(told: dict[str, Any]) -> _Entry:
    full = plain(told["profiling_name"])
    name, _, ends = (full.partition(":")[2] or full).partition(" ")
    peers = _peers(ends)
    between = bool(told.get("is_p2p", peers))
    number = int(told["p2p_seq_id"] if between else told["collective_seq_id"])
    state = State(plain(told["state"]))
    elements, dtype = agreed(name, told)
    since = int(told.get("time_discovered_started_ns") or told["time_created_ns"])
    call = Call(
        number=number,
        name=name,
        state=state,
        elements=elements,
        dtype=dtype,
        since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since // 10**9)),
        timed_out=bool(told.get("retired")) and state is not State.COMPLETED,
    )
    group, about = told["process_group"]
    return _Entry(_Group(plain(group), plain(about)), number, peers or (NOBODY if between else None), call)


def _peers(ends: str) -> tuple[int, int] | None:
    """Who sends and who receives: `0->1` of a send, `1<-0` of a receive."""
    found = PEERS.fullmatch(ends)
    if not found:
        return None
    return (int(found[1]), int(found[3])) if found[2] == "->" else (int(found[3]), int(found[1]))


def _closed(entries: Iterable[_Entry]) -> list[_Entry]:
    """The entries with the state of the one that closes their group; that of a group between peers goes itself."""
    closed: list[_Entry] = []
    for (_, peers, _), run in groupby(sorted(entries, key=_order), key=_order):
        same = list(run)
        closes = same[-1].call if same[-1].call.name.endswith(COALESCED) else None
        if closes and len(same) > 1:
            same = [
                one._replace(call=one.call._replace(state=closes.state, timed_out=closes.timed_out)) for one in same
            ]
        closed += [one for one in same if one.peers != NOBODY] if peers else same
    return closed


def _order(entry: _Entry) -> tuple[_Group, bool, int]:
    return entry.group, bool(entry.peers), entry.number
