# SPDX-License-Identifier: Apache-2.0
"""Recordings as evidence of a hang (topo/jobs/hang): how far each rank has come in each communicator."""

import time

from railgauge.topo.jobs.hang.between_peers import BetweenPeers
from railgauge.topo.jobs.hang.model import JOB, OWN, Call, JobCommunicator, JobState, State, Status, Track
from railgauge.topo.jobs.recordings.job import CommunicatorRanks, RecordedJob
from railgauge.topo.jobs.recordings.layout import RecordingLevel
from railgauge.topo.jobs.recordings.messages import add_messages
from railgauge.topo.jobs.recordings.operations import RankOperations
from railgauge.topo.jobs.recordings.recording import Array
from railgauge.topo.jobs.recordings.usage import nccl_type

SOURCE = "recording"
KEPT = 4096
"""The last operations of each rank and communicator that are compared."""
ROOTED = ("Broadcast", "Reduce", "Gather", "Scatter")


def job_state(job: RecordedJob) -> JobState:
    """What all recordings of a job say."""
    scene = JobState()
    put_recordings(scene, job)
    return scene


def put_recordings(scene: JobState, job: RecordedJob) -> None:
    """Add what the recordings of a job say to a scene. Where the launcher's rank of every member is known, these are
    the ranks, so that one that is behind in several communicators is seen to be one.
    """
    for recording in job.recordings:
        if recording.lost:
            scene.note(f"{recording.title}: {recording.lost} records are lost, the oldest first")
    between, whole = BetweenPeers(), dict[int, bool]()
    for communicator in job.communicators:
        ranks = job_ranks(communicator)
        comm = scene.communicator(
            f"recording {communicator.id}",
            SOURCE,
            JobCommunicator(
                communicator.id,
                about=communicator.name,
                numbering=JOB if ranks else OWN,
                size=None if ranks else _size(communicator),
                ranks=tuple(rank for _, rank in sorted(ranks.items())),
                at_least=max(communicator.ranks) + 1,
            ),
        )
        for rank, one in communicator.ranks.items():
            own = ranks.get(rank, rank)
            _put(scene, comm, own, one)
            add_messages(between, comm, own, one)
            whole[own] = whole.get(own, True) and not one.recording.lost
    between.close(whole)


def job_ranks(communicator: CommunicatorRanks) -> dict[int, int]:
    """By rank of the communicator that of the job; {} unless it is known of all."""
    found = {rank: one.recording.job_rank for rank, one in communicator.ranks.items() if one.recording.job_rank >= 0}
    if all(found.get(rank) == rank for rank in communicator.ranks) and communicator.size == _world(communicator):
        return {rank: rank for rank in range(communicator.size)}
    return found if len(set(found.values())) == communicator.size else {}


def _world(communicator: CommunicatorRanks) -> int:
    return max(one.recording.job_size for one in communicator.ranks.values())


def _size(communicator: CommunicatorRanks) -> int | None:
    """None where NCCL does not report it."""
    return communicator.size if any(one.communicator.size > 0 for one in communicator.ranks.values()) else None


def _put(scene: JobState, comm: JobCommunicator, rank: int, of: RankOperations) -> None:
    told, recording = of.communicator, of.recording
    comm.nodes[rank] = recording.host
    comm.status[rank] = Status.LEFT if told.is_finalized else Status.RUNNING
    numbered = of.collectives[of.collectives["number"] > 0]
    entered = max(int(numbered["number"].max(initial=0)), told.operations)
    completed = completed_of(of, numbered)
    calls = {int(one["number"]): _call(of, one, completed) for one in numbered[-KEPT:]}
    comm.lane().put(rank, Track(entered, completed, calls))
    for one in numbered[-1:]:
        if one["returned_ns"] == 0:
            scene.note(f"{recording.title}: rank {rank} has not come back from its call of {of.name(one)}")


def completed_of(of: RankOperations, numbered: Array) -> int | None:
    """The number of the last collective that is over; None where the recording does not show it.

    A communicator's collectives end in their order on one stream, so with the last end all before it are over. NCCL
    does not report the kernels of all collectives (copy engines, symmetric memory): what comes after the last end is
    not over only if the kernels of all such collectives before it were seen.
    """
    stuck = numbered[numbered["open"] > 0]
    if stuck.size:
        return int(stuck["number"].min()) - 1
    if of.communicator.is_finalized and numbered.size:
        return int(numbered["number"].max())
    if of.recording.level < RecordingLevel.CHANNEL or of.recording.every > 1 or not numbered.size:
        return None
    over = numbered[numbered["seen"] > 0]
    if not over.size:
        return None
    last = int(over["number"].max())
    before, after = numbered[numbered["number"] <= last], numbered[numbered["number"] > last]
    unseen = _kinds(before[before["seen"] == 0])
    return None if _kinds(after) - (_kinds(over) - unseen) else last


def _kinds(collectives: Array) -> set[tuple[int, ...]]:
    """What NCCL decides about kernels by, as far as it is recorded."""
    fields = ("kind", "function", "algorithm", "protocol")
    return set(zip(*(collectives[name].tolist() for name in fields), strict=True))


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
