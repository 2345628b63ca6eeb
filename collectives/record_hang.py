# SPDX-License-Identifier: Apache-2.0
"""A flight record of a run as evidence of a hang (topo/hang): the state of each rank in each communicator."""

import time

from railgauge.collectives.record import parse_record
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.values.printable import one_line
from railgauge.transports.group import WORLD
from railgauge.transports.picture import RankStates, draw
from railgauge.transports.standing import Operation, Standing

SOURCE = "record of a run"


def read_record(scene: JobState, data: bytes, path: str) -> None:
    """Read a record; InputError if it is invalid. Ranks that could not be reached are silent."""
    record = parse_record(data, path)
    error = one_line(record.error or "")
    if error:
        scene.note(f"the run ended: {error}")
    if (picture := draw(RankStates(record.standings))) and picture not in error:
        scene.note(f"state of the ranks: {picture}")
    for rank, standings in sorted(record.standings.items()):
        for standing in standings:
            comm = _communicator(scene, standing)
            comm.status |= {lost: Status.SILENT for lost in record.missing if lost in comm.ranks}
            comm.trouble |= {
                lost: "could not be reached when the run ended" for lost in record.missing if lost in comm.ranks
            }
            comm.lane().put(rank, _track(standing.operations, timed_out=record.error is not None))


def _communicator(scene: JobState, standing: Standing) -> JobCommunicator:
    name = f"{standing.communicator:x}"
    about = "of all ranks" if standing.communicator == WORLD else ""
    ranks = tuple(standing.ranks)
    return scene.communicator(f"run {name}", SOURCE, JobCommunicator(name, about=about, numbering=JOB, ranks=ranks))


def _track(operations: list[Operation], *, timed_out: bool) -> Track:
    calls = {each.number: _call(each, timed_out=timed_out) for each in operations}
    over = [number for number, call in calls.items() if call.state is State.COMPLETED]
    return Track(max(calls, default=0), max(over, default=min(calls, default=1) - 1), calls)


def _call(operation: Operation, *, timed_out: bool) -> Call:
    return Call(
        number=operation.number,
        name=one_line(operation.collective),
        state=State.COMPLETED if operation.is_over else State.STARTED,
        elements=operation.elements,
        dtype=one_line(operation.dtype),
        op=one_line(operation.op),
        root=operation.root if operation.root >= 0 else None,
        since=_clock(operation.began_s),
        timed_out=timed_out and not operation.is_over,
    )


def _clock(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""
