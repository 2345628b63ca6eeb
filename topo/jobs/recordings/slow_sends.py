# SPDX-License-Identifier: Apache-2.0
"""Sends that the network needs longer for than for their siblings, by rank, channel and peer, and by NIC."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.job import CommunicatorRanks
from railgauge.topo.jobs.recordings.layout import Flag, Kind
from railgauge.topo.jobs.recordings.operations import RankOperations, ended_ns
from railgauge.topo.jobs.recordings.recording import Array

SLOW = 1.5
FEWEST = 20
"""Steps, below which nothing is said."""
LEAST_BYTES = 16 << 10
"""Smaller messages show latency."""
IB = 1 << 16
"""The type of network events that have a device, above their version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """The sends of one rank over one channel to one peer. gb_per_s: of a step, from posting to completion, the median.
    device: NCCL's number of the NIC, None unknown.
    """

    rank: int
    channel: int
    peer: int
    steps: int
    bytes: int
    gb_per_s: float
    device: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSends:
    """Sends that are slow beside all others of the communicator, whose median is `others_gb_per_s`."""

    sends: Sends
    others_gb_per_s: float


def all_sends(communicator: CommunicatorRanks) -> list[Sends]:
    """By rank, channel and peer."""
    return [sends for rank, one in communicator.ranks.items() for sends in _of_rank(rank, one)]


def slow_sends(sends: list[Sends]) -> list[SlowSends]:
    """Those that are slow, the slowest first."""
    known = [one for one in sends if one.steps >= FEWEST]
    found = []
    for one in known:
        others = [other.gb_per_s for other in _siblings(one, known)]
        if others and (usual := float(np.median(others))) >= SLOW * one.gb_per_s:
            found.append(SlowSends(sends=one, others_gb_per_s=usual))
    return sorted(found, key=lambda one: one.sends.gb_per_s)


def _siblings(of: Sends, known: list[Sends]) -> list[Sends]:
    """What sends compare with: all others, or those of the same rank where that has one peer rank alone: which of two
    ends is slow shows from none of them.
    """
    others = [one for one in known if one is not of]
    if len({one.rank for one in others} - {of.rank}) > 1:
        return others
    return [one for one in others if one.rank == of.rank]


def _of_rank(rank: int, of: RankOperations) -> Iterator[Sends]:
    records = of.recording.records[of.recording.records["communicator"] == of.communicator.slot]
    operations = records[(records["kind"] == Kind.OPERATION) & (records["flags"] & Flag.SENDS > 0)]
    steps = records[records["kind"] == Kind.STEP]
    if not operations.size or not steps.size:
        return
    place = np.minimum(np.searchsorted(operations["sequence"], steps["parent"]), len(operations) - 1)
    ended, posted = ended_ns(steps), steps["c"] & np.uint64(0xFFFFFFFF)
    good = (operations["sequence"][place] == steps["parent"]) & (ended > 0) & (posted > 0)
    good &= steps["b"] >= LEAST_BYTES
    steps, place, ended, posted = steps[good], place[good], ended[good], posted[good]
    took = np.maximum(ended - steps["start_ns"].astype(np.int64) - posted.astype(np.int64) + 1, 1)
    devices = _devices(records)
    keys = operations["a"][place]
    for key in np.unique(keys):
        mine = keys == key
        size = steps["b"][mine]
        whole = size >= size.max() // 2
        number = {devices[step] for step in steps["sequence"][mine].tolist() if step in devices}
        yield Sends(
            rank=rank,
            channel=int(key) >> 32 & 0xFF,
            peer=int(key) & 0xFFFFFFFF,
            steps=int(np.count_nonzero(whole)),
            bytes=int(size.sum()),
            gb_per_s=float(np.median(size[whole] / took[mine][whole])),
            device=number.pop() if len(number) == 1 else None,
        )


def _devices(records: Array) -> dict[int, int]:
    """By the number of a step, the NIC that its network events name."""
    events = records[(records["kind"] == Kind.NETWORK) & (records["a"] & np.uint64(0xFFFF0000) == IB)]
    devices = (events["a"] >> np.uint64(32)).tolist()
    return dict(zip(events["parent"].tolist(), devices, strict=True))
