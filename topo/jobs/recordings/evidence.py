# SPDX-License-Identifier: Apache-2.0
"""Recordings as evidence of a hang (topo/jobs/hang): how far each rank has come in each communicator."""

import time

import numpy as np

from railgauge.topo.jobs.hang.model import Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.jobs.recordings.job import RecordedJob
from railgauge.topo.jobs.recordings.layout import Kind, RecordingLevel
from railgauge.topo.jobs.recordings.operations import RankOperations, operations_of
from railgauge.topo.jobs.recordings.recording import Array, Recording
from railgauge.topo.jobs.recordings.usage import nccl_type

SOURCE = "recording"
KEPT = 4096
"""The last operations of each rank and communicator that are compared."""
ROOTED = ("Broadcast", "Reduce", "Gather", "Scatter")


def job_state(job: RecordedJob) -> JobState:
    """What all recordings of a job say."""
    scene = JobState()
    for recording in job.recordings:
        put_recording(scene, recording)
    return scene


def put_recording(scene: JobState, recording: Recording) -> None:
    """Add what a recording says to a scene."""
    if recording.lost:
        scene.note(f"{recording.title}: {recording.lost} records are lost, the oldest first")
    for one in operations_of(recording):
        if one.rank >= 0:
            _put(scene, one)


def _put(scene: JobState, of: RankOperations) -> None:
    told, recording = of.communicator, of.recording
    size = told.size if told.size > 0 else None
    comm = scene.communicator(
        f"recording {told.id}", SOURCE, JobCommunicator(told.id, about=told.name, size=size, at_least=told.rank + 1)
    )
    comm.at_least = max(comm.at_least, told.rank + 1)
    comm.nodes[told.rank] = recording.host
    comm.status[told.rank] = Status.LEFT if told.is_finalized else Status.RUNNING
    numbered = of.collectives[of.collectives["number"] > 0]
    entered = max(int(numbered["number"].max(initial=0)), told.operations)
    completed = completed_of(of, numbered, entered)
    calls = {int(one["number"]): _call(of, one, completed) for one in numbered[-KEPT:]}
    comm.lane().put(told.rank, Track(entered, completed, calls))
    for one in numbered[-1:]:
        if one["returned_ns"] == 0:
            scene.note(f"{recording.title}: rank {told.rank} has not come back from its call of {of.name(one)}")


def completed_of(of: RankOperations, numbered: Array, entered: int) -> int | None:
    """The number of the last collective that is over; None where the recording does not show it.

    A communicator's collectives end in their order on one stream, so with the last end all before it are over.
    """
    stuck = numbered[numbered["open"] > 0]
    if stuck.size:
        return int(stuck["number"].min()) - 1
    if of.recording.level < RecordingLevel.CHANNEL or of.recording.every > 1 or not numbered.size:
        return None
    over = numbered[numbered["seen"] > 0]
    if not over.size or np.any(numbered["kind"] == Kind.COPY_ENGINE):
        return None
    return int(over["number"].max())


def _call(of: RankOperations, one: Array, completed: int | None) -> Call:
    name, dtype = of.name(one), of.recording.named(1, int(one["dtype"]))
    known = nccl_type(dtype)
    number = int(one["number"])
    if completed is None:
        state = State.CALLED
    elif number <= completed:
        state = State.COMPLETED
    else:
        state = State.STARTED if one["seen"] else State.SCHEDULED
    return Call(
        number=number,
        name=name,
        state=state,
        elements=int(one["count"]),
        dtype=known[0] if known else dtype,
        root=int(one["root"]) if name in ROOTED else None,
        since=_clock(int(one["called_ns"]) + of.recording.offset_ns),
    )


def _clock(unix_ns: int) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_ns / 1e9))
    except (OverflowError, ValueError, OSError):
        return ""
