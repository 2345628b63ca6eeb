# SPDX-License-Identifier: Apache-2.0
"""Recordings as traces of a job (topo/jobs/traces): their operations, to be billed, and replayed."""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.jobs.recordings.job import RecordedJob
from railgauge.topo.jobs.recordings.operations import BETWEEN_PEERS, RankOperations
from railgauge.topo.jobs.recordings.recording import Array
from railgauge.topo.jobs.recordings.usage import elements, nccl_type
from railgauge.topo.jobs.traces.calls import RankCalls
from railgauge.topo.jobs.traces.trace import Source, Trace, TracedGroup

KIND = "recording of NCCL"
CAPTURED = "in a CUDA graph, of which NCCL does not report all runs"


def put_job(trace: Trace, job: RecordedJob) -> None:
    """Add the operations of a job's recordings to a trace, of all ranks in the order of their calls."""
    communicators = job.communicators
    if not communicators:
        return
    trace.kinds.add(KIND)
    world = communicators[0]
    trace.world = max(trace.world, world.size, *(one.job_size for one in job.recordings))
    places = {(id(one.recording), one.communicator.bus_id): rank for rank, one in world.ranks.items()}
    found: dict[Source, list[_Taken]] = {}
    for communicator in communicators:
        ranks = {rank: _job_rank(one, places) for rank, one in communicator.ranks.items()}
        known = tuple(rank for _, rank in sorted(ranks.items()) if rank is not None)
        whole = len(known) == communicator.size == len(set(known))
        group = TracedGroup(name=communicator.id, size=communicator.size, ranks=known if whole else ())
        for rank, one in communicator.ranks.items():
            own = ranks[rank]
            source: Source = one.recording.title if own is None else own
            found.setdefault(source, []).extend(_taken(one, rank, group, trace))
    for source, some in found.items():
        calls = RankCalls(trace, source, KIND)
        for taken in sorted(some, key=lambda each: each.record):
            taken.put(calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """An operation of a rank; record: its place in the recording."""

    record: int
    name: str
    sides: tuple[int, int]
    dtype: str
    group: TracedGroup
    peers: tuple[int, int] | None = None
    number: int | None = None
    root: int = 0
    measured_us: float | None = None

    def put(self, calls: RankCalls) -> None:
        """Take it into a trace."""
        calls.take(
            self.name,
            self.sides,
            self.dtype,
            self.group,
            peers=self.peers,
            number=self.number,
            root=self.root,
            measured_us=self.measured_us,
        )


def _job_rank(of: RankOperations, places: dict[tuple[int, str], int]) -> int | None:
    """The rank in the job: as its launcher says, else that in the largest communicator."""
    if of.recording.job_rank >= 0 and len(of.recording.communicators) == len(
        {one.hash for one in of.recording.communicators}
    ):
        return of.recording.job_rank
    return places.get((id(of.recording), of.communicator.bus_id))


def _taken(of: RankOperations, rank: int, group: TracedGroup, trace: Trace) -> Iterator[_Taken]:
    for one in of.collectives:
        if one["captured"] or not one["number"]:
            trace.leave_out(CAPTURED)
            continue
        name = of.name(one)
        total = elements(name, int(one["count"]), group.size)
        yield _Taken(
            record=int(one["record"]),
            name=name,
            sides=(0, total) if name in ("AllGather", "Gather") else (total, 0),
            dtype=_dtype(of, int(one["dtype"])),
            group=group,
            number=int(one["number"]),
            root=max(int(one["root"]), 0),
            measured_us=_took_us(one),
        )
    for message in of.messages:
        name, peer = of.recording.named(0, int(message["function"])), int(message["b"])
        if name not in BETWEEN_PEERS or not group.ranks or peer >= len(group.ranks):
            trace.leave_out("a message without two ends")
            continue
        own, other = group.ranks[rank], group.ranks[peer]
        yield _Taken(
            record=int(message["sequence"]),
            name=name,
            sides=(int(message["a"]), 0),
            dtype=_dtype(of, int(message["dtype"])),
            group=group,
            peers=(own, other) if name == "Send" else (other, own),
        )


def _dtype(of: RankOperations, code: int) -> str:
    name = of.recording.named(1, code)
    known = nccl_type(name)
    return known[0] if known else name


def _took_us(one: Array) -> float | None:
    for begin, end in (("gpu_began_ns", "gpu_ended_ns"), ("began_ns", "ended_ns")):
        if 0 < one[begin] < one[end]:
            return (int(one[end]) - int(one[begin])) / 1e3
    return None
