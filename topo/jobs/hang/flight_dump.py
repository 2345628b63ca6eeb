# SPDX-License-Identifier: Apache-2.0
"""The flight recorder's dump of one rank of a PyTorch job: its last operations in each process group.

`nccl_trace_rank_7`, or what TORCH_FR_DUMP_TEMP_FILE names: a pickle; or JSON of the same fields
(`_dump_nccl_trace_json`). Other back ends write the same fields: gloo, XCCL, HCCL.
Source: PyTorch's torch/csrc/distributed/c10d/FlightRecorder*.hpp, versions 2.0 to 2.10 of the format (1.x:
first_format.py).

- `collective_seq_id` numbers a group's collectives, equal on all ranks; the ring keeps the last entries of all groups.
- An operation inside a coalesced group stays "scheduled" for ever: the entry that closes the group has its state.
- Under CUDA graphs entries stay "scheduled" too: all up to the last one that is completed are over.
- A dump may hold only what is under way; `pg_status` then has the numbers of the last operations, of collectives or of
  sends and receives, whichever came last.
- "started" is known only with TORCH_NCCL_ENABLE_TIMING=1. An entry that is retired and not completed has timed out.
"""

import re
import time
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from railgauge.topo.errors import InputError
from railgauge.topo.files.json_value import json_value
from railgauge.topo.jobs.hang.agreement import SIDES, agreed, describe, plain
from railgauge.topo.jobs.hang.between_peers import BetweenPeers
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.values.printable import one_line

SOURCE = "flight recorder"
RANK = re.compile(r"rank[_.-]?(\d{1,7})(?!\d)", re.IGNORECASE)
NUMBER = re.compile(r"(\d{1,7})(?:\.(?:json|pkl|pickle|bin|gz|zst|bz2|xz))*$")
PEERS = re.compile(r"(\d{1,7})(->|<-)(\d{1,7})")
NCCL = "nccl"
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
    backend: str


class _Entry(NamedTuple):
    """An entry, checked. peers: who sends and who receives, by their ranks in the group; None of a collective."""

    group: _Group
    number: int
    peers: tuple[int, int] | None
    call: Call
    local: int | None


def rank_of(name: str, dump: Mapping[str, Any], path: str) -> int:
    """The rank in a file's name: behind `rank`, else the last number; else that in the dump. InputError without one."""
    found = RANK.search(name) or NUMBER.search(name)
    if found is None and isinstance(dump.get("rank"), int):
        return int(dump["rank"])
    if not found:
        raise InputError("a flight record's name ends with the rank (nccl_trace_rank_7): not so here", path)
    return int(found[1])


class FlightDumps:
    """Reads the dumps of a job's ranks into a scene."""

    def __init__(self, scene: JobState) -> None:
        self._scene = scene
        self._whole: dict[int, bool] = {}  # by rank: whether its ring has lost nothing
        self._backends: dict[str, str] = {}  # by group: the back end that has it to itself, or came first
        self._between = BetweenPeers()
        self._standing: dict[int, dict[str, tuple[int, int]]] = {}

    def read(self, dump: dict[str, Any], rank: int, path: str) -> None:
        """Read the dump of a rank; InputError if it is invalid, or the second of that rank."""
        if rank in self._whole:
            raise InputError(f"a second dump of rank {rank}: give only the dumps of one hang", path)
        try:
            groups = {plain(name): group_members(told) for name, told in dump["pg_config"].items()}
            raw = dump.get("entries") or []
            entries = [_entry(one) for one in raw]
            standing = _standing(dump.get("pg_status") or {}, groups, entries)
            whole = [int(one["record_id"]) for one in raw] == list(range(len(raw)))
        except KeyError as error:
            raise InputError(f"not a flight record of PyTorch: field {error} is missing", path) from None
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError, OSError) as error:
            raise InputError(f"not a flight record of PyTorch: {one_line(str(error))[:LONGEST]}", path) from None
        self._whole[rank] = whole and (bool(raw) or not dump.get("pg_status"))
        self._standing[rank] = standing
        by_group: dict[tuple[str, str], list[_Entry]] = {}
        for entry in _closed(entries):
            by_group.setdefault((entry.group.name, entry.group.backend), []).append(entry)
        for name, (about, ranks) in groups.items():
            self._communicator(name, "" if about == "undefined" else about, ranks)
        for (name, backend), some in sorted(by_group.items(), key=lambda one: one[0][1] != NCCL):
            about, ranks = groups.get(name, (some[-1].group.about, ()))
            about = about if about not in ("", "undefined") else some[-1].group.about
            comm = self._communicator(name, "" if about == "undefined" else about, ranks, backend)
            self._put(comm, rank, some)

    def close(self) -> None:
        """Once all dumps are read: ranks that have one and called nothing in a group, or towards a peer, stand at 0.

        Of a ring that has lost entries nothing is known about a group that it holds none of, but what the dump's status
        of its groups says.
        """
        self._between.close(self._whole)
        for comm in self._scene.communicators.values():
            if SOURCE not in comm.sources:
                continue
            tracks, near = comm.lane().tracks, _near(comm.lane().tracks)
            for rank in comm.members:
                if rank not in self._whole:
                    continue
                comm.status[rank] = Status.RUNNING
                stands = self._standing[rank].get(comm.id)
                if self._whole[rank]:
                    tracks.setdefault(rank, Track(0, 0))
                elif rank not in tracks and stands and stands[0] in near:
                    tracks[rank] = Track(*stands)

    def _communicator(
        self, name: str, about: str, ranks: tuple[int, ...], backend: str | None = None
    ) -> JobCommunicator:
        """Groups that were split off one another may have the same name; their ranks distinguish them. Each back end of
        a group counts its own operations.
        """
        first = self._backends.setdefault(name, backend) if backend is not None else None
        other = backend if backend != first else None
        about = ", ".join(one for one in (about, other) if one)
        key = f"group {name} {other}" if other else f"group {name}"
        known = self._scene.communicators.get(key)
        key = key if known is None or known.ranks in ((), ranks) else f"{key} {ranks}"
        return self._scene.communicator(key, SOURCE, JobCommunicator(name, "process group", about, JOB, ranks=ranks))

    def _put(self, comm: JobCommunicator, rank: int, entries: list[_Entry]) -> None:
        collectives = [one for one in entries if one.peers is None]
        if collectives:
            comm.lane().put(rank, _track(collectives))
        for one in entries:
            if one.peers:
                self._between.add(comm, rank, one.peers, one.call)


def _near(tracks: Mapping[int, Track]) -> range:
    """Numbers that an operation of other ranks may have; others in a group's status are those of messages."""
    numbers = [number for track in tracks.values() for number in (track.completed, track.entered) if number is not None]
    return range(min(numbers) - AHEAD, max(numbers) + AHEAD + 1) if numbers else range(0)


def _track(entries: list[_Entry]) -> Track:
    calls = {one.number: one.call for one in entries}
    over = [number for number, call in calls.items() if call.state is State.COMPLETED]
    completed = max(over, default=min(calls) - 1)
    kept = {number: call for number, call in calls.items() if -BEFORE < number - completed <= AHEAD}
    return Track(max(calls), completed, kept)


def group_members(told: dict[str, Any]) -> tuple[str, tuple[int, ...]]:
    """What a group is for, and its ranks: a text `[0, 1, 2]`, or a list."""
    listed = told["ranks"]
    ranks = json_value(listed) if isinstance(listed, str) else listed
    if len(ranks) > MOST_RANKS:
        raise ValueError(f"a group of {len(ranks)} ranks")
    return plain(told["desc"]), tuple(int(rank) for rank in ranks)


def _standing(status: dict[str, Any], groups: dict[str, Any], entries: list[_Entry]) -> dict[str, tuple[int, int]]:
    """By group, the last operation that was called, and the last that is over.

    The status has the groups by their local number, the order in which the process made them; their names are numbers
    in the same order. Where the two do not go together, only the groups of which there are entries are known.
    """
    names = {one.local: one.group.name for one in entries if one.local is not None}
    if len(groups) == len(status) and all(name.isdecimal() for name in groups):
        in_order = dict(zip(sorted(map(int, status)), sorted(groups, key=int), strict=True))
        names = in_order if all(in_order.get(local) == name for local, name in names.items()) else names
    return {
        names[int(local)]: (int(told["last_enqueued_collective"]), int(told["last_completed_collective"]))
        for local, told in status.items()
        if int(local) in names and "last_completed_collective" in told
    }


def _entry(told: dict[str, Any]) -> _Entry:
    backend, _, full = plain(told["profiling_name"]).rpartition(":")
    name, _, ends = full.partition(" ")
    peers = peers_of(ends)
    between = bool(told.get("is_p2p", peers))
    number = int(told["p2p_seq_id"] if between else told["collective_seq_id"])
    state = State(plain(told["state"]))
    elements, dtype, parts = agreed(name, told)
    since = int(told.get("time_discovered_started_ns") or told["time_created_ns"])
    call = Call(
        number=number,
        name=name,
        state=state,
        elements=elements,
        dtype=dtype,
        since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since // 10**9)),
        timed_out=bool(told.get("retired")) and state is not State.COMPLETED,
        order=int(told["record_id"]),
        parts=parts,
    )
    group, about = told["process_group"]
    local = told.get("pg_id")
    where = _Group(plain(group), plain(about), backend)
    return _Entry(where, number, peers or (NOBODY if between else None), call, None if local is None else int(local))


def peers_of(ends: str) -> tuple[int, int] | None:
    """Who sends and who receives: `0->1` of a send, `1<-0` of a receive."""
    found = PEERS.fullmatch(ends)
    if not found:
        return None
    return (int(found[1]), int(found[3])) if found[2] == "->" else (int(found[3]), int(found[1]))


def _closed(entries: Iterable[_Entry]) -> list[_Entry]:
    """The entries with the state of the one that closes their group; that of a group between peers goes itself. The
    collectives of a group become one that has them as its parts.
    """
    closed: list[_Entry] = []
    for (_, peers, _), run in groupby(sorted(entries, key=_order), key=_order):
        same = sorted(run, key=lambda one: one.call.order)
        closes = next((one.call for one in same if is_closing(one.call.name)), None)
        if not closes:
            closed += same
            continue
        inside = [one for one in same if one.call is not closes]
        if peers or not inside:
            closes_all = [
                one._replace(call=one.call._replace(state=closes.state, timed_out=closes.timed_out)) for one in same
            ]
            closed += [one for one in closes_all if one.peers != NOBODY] if peers else closes_all
        else:
            parts = tuple(part for one in inside for part in one.call.parts or (_part(one.call),))
            whole = closes._replace(elements=None, parts=parts, order=inside[0].call.order)
            closed.append(inside[0]._replace(call=whole))
    return closed


def is_closing(name: str) -> bool:
    """Whether an entry closes a group: `coalesced`, `ALLGATHER_coalesced`; not an operation on several tensors."""
    return name.endswith(COALESCED) and name not in SIDES


def _part(call: Call) -> str:
    return describe((call.name, call.elements, call.dtype, call.op, call.root, ()))


def _order(entry: _Entry) -> tuple[_Group, bool, int]:
    return entry.group, bool(entry.peers), entry.number
