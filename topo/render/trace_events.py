# SPDX-License-Identifier: Apache-2.0
"""A job's recordings in the trace event format of Chrome, which Perfetto and chrome://tracing open.

A process of the trace is a rank of the job, with a thread for its calls, one for what was enqueued, and one for each
channel in the kernel and in the proxy. Times are those of the hosts' clocks, in us.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from railgauge.topo.jobs.recordings.job import RecordedJob
from railgauge.topo.jobs.recordings.layout import Kind
from railgauge.topo.jobs.recordings.operations import ended_ns
from railgauge.topo.jobs.recordings.recording import Array, Recording
from railgauge.topo.jobs.recordings.usage import nccl_type

MOST_EVENTS = 400_000
"""Of all processes together, the newest of each; more are slow to open."""
CALLS, ENQUEUED, KERNEL, PROXY = 1, 2, 100, 300
"""Threads; the last two are the first of so many channels."""
THREADS = {CALLS: "calls", ENQUEUED: "enqueued"}
NAMED = {Kind.CALL: CALLS, Kind.COLLECTIVE: ENQUEUED, Kind.MESSAGE: ENQUEUED, Kind.COPY_ENGINE: ENQUEUED}


def trace_events(job: RecordedJob) -> dict[str, Any]:
    """The document; other keys than traceEvents are ignored by those programs."""
    each = MOST_EVENTS // max(1, len(job.recordings))
    events = [event for place, one in enumerate(job.recordings) for event in _of(one, place, each)]
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _of(recording: Recording, place: int, most: int) -> Iterator[dict[str, Any]]:
    process = recording.job_rank if recording.job_rank >= 0 else 1_000_000 + place
    rank = f"rank {recording.job_rank}, " if recording.job_rank >= 0 else ""
    yield _meta("process_name", process, 0, f"{rank}{recording.title}")
    kinds = [*NAMED, Kind.CHANNEL, Kind.OPERATION]
    records = recording.records[np.isin(recording.records["kind"], kinds)][-most:]
    threads: dict[int, str] = {}
    for record, ended in zip(records, ended_ns(records).tolist(), strict=True):
        thread, name, arguments = _told(recording, record)
        threads[thread] = THREADS.get(thread) or (
            f"channel {thread - KERNEL}" if thread < PROXY else f"proxy, channel {thread - PROXY}"
        )
        start = int(record["start_ns"])
        event = {"name": name, "pid": process, "tid": thread, "ts": (start + recording.offset_ns) / 1e3}
        if ended:
            yield {**event, "ph": "X", "dur": (ended - start) / 1e3, "args": arguments}
        else:
            yield {**event, "ph": "B", "args": {**arguments, "ended": False}}
    yield from (_meta("thread_name", process, thread, name) for thread, name in threads.items())


def _meta(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _told(recording: Recording, record: Array) -> tuple[int, str, dict[str, Any]]:
    """Thread, name and arguments of an event."""
    kind = Kind(int(record["kind"]))
    if kind is Kind.CHANNEL:
        return KERNEL + int(record["a"]), "kernel", {}
    if kind is Kind.OPERATION:
        peer, channel = int(record["a"]) & 0xFFFFFFFF, int(record["a"]) >> 32 & 0xFF
        way = "send" if record["flags"] & 1 else "receive"
        return PROXY + channel, way, {"peer": peer, "bytes": int(record["c"])}
    dtype = nccl_type(recording.named(1, int(record["dtype"])))
    arguments: dict[str, Any] = {"count": int(record["a"]), "type": dtype[0] if dtype else "unknown"}
    if kind is Kind.COLLECTIVE:
        arguments |= {
            "algorithm": recording.named(2, int(record["algorithm"])),
            "protocol": recording.named(3, int(record["protocol"])),
            "channels": int(record["channels"]),
        }
    if kind is Kind.MESSAGE:
        arguments["peer"] = int(record["b"])
    return NAMED[kind], recording.named(0, int(record["function"])) or "unknown", arguments
