# SPDX-License-Identifier: Apache-2.0
"""A scene, explained: as text for people and as the content of a railgauge/hang/1 document."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.jobs.hang.agreement import describe
from railgauge.topo.jobs.hang.model import COLLECTIVES, Call, JobCommunicator, JobState, Lane, Status, Track, named
from railgauge.topo.jobs.hang.standstill import Standstill
from railgauge.topo.jobs.hang.verdict import HangVerdict
from railgauge.topo.render import findings

MOST = 12
"""Communicators that are shown, those of the causes first, then others that do not go on; the JSON document has all."""
MOST_LINES = 12
"""Lines of one communicator."""


def hang_document(scene: JobState, verdict: HangVerdict) -> dict[str, Any]:
    """The content of a railgauge/hang/1 document, without its head."""
    return {
        "verdict": verdict.text,
        "stuck": verdict.is_stuck,
        "communicators": [_communicator(comm) for comm in scene.communicators.values()],
        "stacks": [one._asdict() for one in scene.stacks],
        "notes": list(scene.notes),
        "findings": [findings.record(finding) for finding in verdict.findings],
    }


def _communicator(comm: JobCommunicator) -> dict[str, Any]:
    return {
        "id": comm.id,
        "kind": comm.kind,
        "about": comm.about,
        "numbering": comm.numbering,
        "size": comm.size if comm.size is not None else len(comm.ranks) or None,
        "sources": list(comm.sources),
        "ranks": [
            {
                "rank": rank,
                "node": comm.nodes.get(rank),
                "status": str(comm.status[rank]) if rank in comm.status else None,
                "trouble": comm.trouble.get(rank),
            }
            for rank in comm.members
        ],
        "lanes": [
            {
                "counts": name or "collectives",
                "between": list(lane.peers) if lane.peers else None,
                "tracks": [_track(rank, track) for rank, track in sorted(lane.tracks.items())],
                "unnamed": [{"called": called, "ranks": ranks} for called, ranks in sorted(lane.unnamed.items())],
            }
            for name, lane in comm.lanes.items()
        ],
    }


def _track(rank: int, track: Track) -> dict[str, Any]:
    call = _shown(track)
    return {
        "rank": rank,
        "called": track.entered,
        "over": track.completed,
        "operation": _call(call) if call else None,
    }


def _shown(track: Track) -> Call | None:
    """The operation that a rank is in, else the last one."""
    number = track.waits_in
    return track.calls.get(track.entered if number is None else number)


def _call(call: Call) -> dict[str, Any]:
    return {
        "number": call.number,
        "name": call.name,
        "state": str(call.state),
        "count": call.elements,
        "dtype": call.dtype or None,
        "op": call.op or None,
        "root": call.root,
        "since": call.since or None,
        "timed_out": call.timed_out,
        "parts": list(call.parts),
    }


def hang_text(scene: JobState) -> str:
    """Where the ranks of each communicator stand, equal ones in one line."""
    standstill = Standstill(scene)
    held = {id(hold.lane) for hold in standstill.holds}
    causes = {id(hold.comm) for hold in standstill.blame.causes}
    order = sorted(scene.communicators.values(), key=lambda comm: (id(comm) not in causes, not _is_odd(comm, held)))
    lines: list[str] = []
    for comm in order[:MOST]:
        rows = list(_rows(comm, held))
        lines += ["", f"{comm.described} ({', '.join(comm.sources)})", *(f"  {row}" for row in rows[:MOST_LINES])]
        if len(rows) > MOST_LINES:
            lines.append(f"  and {len(rows) - MOST_LINES} more lines (--json has all)")
    if len(order) > MOST:
        lines += ["", f"and {len(order) - MOST} more communicators (--json has all)"]
    return "\n".join(lines[1:])


def _is_odd(comm: JobCommunicator, held: set[int]) -> bool:
    return bool(comm.trouble) or any(id(lane) in held or lane.unnamed for lane in comm.lanes.values())


def _rows(comm: JobCommunicator, held: set[int]) -> Iterator[str]:
    by_status: dict[str, list[int]] = {}
    for rank, status in sorted(comm.status.items()):
        if rank in comm.trouble or status is not Status.RUNNING:
            by_status.setdefault(comm.trouble.get(rank, status), []).append(rank)
    yield from (f"{named(ranks)}: {said}" for said, ranks in by_status.items())
    for name, lane in comm.lanes.items():
        if name == COLLECTIVES or id(lane) in held or lane.unnamed:
            between = f" (rank {lane.peers[0]} to rank {lane.peers[1]})" if lane.peers else ""
            yield from (f"{row}{between}" for row in _standings(name, lane))
    alike = {name: lane for name, lane in comm.lanes.items() if name and not lane.peers and id(lane) not in held}
    counts = [
        f"{name} #{max(track.entered for track in lane.tracks.values())}" for name, lane in alike.items() if lane.tracks
    ]
    if counts:
        yield f"all have called up to {', '.join(counts)}"


def _standings(name: str, lane: Lane) -> Iterator[str]:
    """A line for all ranks in the same state, those furthest behind last."""
    alike: dict[tuple[int, str], list[int]] = {}
    for rank, track in sorted(lane.tracks.items()):
        alike.setdefault((-track.entered, _standing(name, track)), []).append(rank)
    told = sorted(alike.items())
    width = max((len(named(ranks)) for _, ranks in told), default=0)
    yield from (f"{named(ranks):{min(width, 24)}}  {said}" for (_, said), ranks in told)
    yield from (
        f"{ranks} ranks  {name or 'collectives'} called up to #{called}" for called, ranks in lane.unnamed.items()
    )


def _standing(name: str, track: Track) -> str:
    call = _shown(track)
    what = f"{call.name or 'collective'} #{call.number}" if call else f"{name or 'collective'} #{track.entered}"
    if track.entered <= 0 and call is None:
        return f"no {name or 'collective'} called"
    if track.waits_in is None:
        return f"{'out of' if track.completed is not None else 'called'} {what}, the last"
    terms = describe((call.name, call.elements, call.dtype, call.op, call.root, ())) if call else ""
    beyond = f", called up to #{track.entered}" if track.entered > track.waits_in else ""
    return (
        f"in {what}{terms.removeprefix(call.name or 'it') if call else ''}{f', {call.state}' if call else ''}{beyond}"
    )
