# SPDX-License-Identifier: Apache-2.0
"""Sends and receives of recordings as evidence of a hang: those whose kernels have not ended, from both ends."""

import numpy as np

from railgauge.topo.jobs.hang.between_peers import BetweenPeers
from railgauge.topo.jobs.hang.model import Call, JobCommunicator, State
from railgauge.topo.jobs.recordings.layout import Kind, RecordingLevel
from railgauge.topo.jobs.recordings.operations import BETWEEN_PEERS, RankOperations, ended_ns
from railgauge.topo.jobs.recordings.recording import Array
from railgauge.topo.jobs.recordings.usage import nccl_type


def add_messages(between: BetweenPeers, comm: JobCommunicator, rank: int, of: RankOperations) -> None:
    """Add those of a rank, by its number in `comm`; nothing where the recording does not show which are over."""
    recording, messages = of.recording, of.messages
    if recording.level < RecordingLevel.CHANNEL or recording.every > 1 or not messages.size:
        return
    seen, running = _kernels(recording.records, messages)
    if not seen.any():
        return
    last: dict[tuple[int, int], int] = {}
    ends = list(zip(messages["function"].tolist(), messages["b"].tolist(), strict=True))
    for place in np.flatnonzero(seen).tolist():
        last[ends[place]] = place
    for place, (function, peer) in enumerate(ends):
        name = recording.named(0, function)
        if name not in BETWEEN_PEERS or peer == of.rank:
            continue
        over = not running[place] and place <= last.get(ends[place], -1)
        dtype = nccl_type(recording.named(1, int(messages["dtype"][place])))
        call = Call(
            number=0,
            name=name.lower(),
            state=State.COMPLETED if over else State.STARTED if running[place] else State.SCHEDULED,
            elements=int(messages["a"][place]),
            dtype=dtype[0] if dtype else "",
        )
        between.add(comm, rank, (of.rank, peer) if name == "Send" else (peer, of.rank), call)


def _kernels(records: Array, messages: Array) -> tuple[Array, Array]:
    """By message whether a channel has begun it, and whether one has not ended it."""
    channels = records[records["kind"] == Kind.CHANNEL]
    seen = np.isin(messages["sequence"], channels["parent"])
    running = np.isin(messages["sequence"], channels["parent"][ended_ns(channels) == 0])
    return seen, running
