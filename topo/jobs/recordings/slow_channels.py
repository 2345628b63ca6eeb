# SPDX-License-Identifier: Apache-2.0
"""Channels that need longer in the kernel than their siblings in the same operations."""

from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.aligned import Aligned
from railgauge.topo.jobs.recordings.job import CommunicatorRanks
from railgauge.topo.jobs.recordings.layout import Kind
from railgauge.topo.jobs.recordings.operations import RankOperations, ended_ns
from railgauge.topo.jobs.recordings.recording import Array

SLOW = 1.5
"""Times the median of the other channels."""
MOST = 10_000
"""Records of a rank that are compared, the newest."""
FEWEST, LEAST_NS = 10, 100_000
"""Operations that have to show it, and how long one has to take: short ones show launches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowChannel:
    """A channel on some ranks; factor: the median over operations of its time over that of the others."""

    channel: int
    ranks: tuple[int, ...]
    factor: float
    operations: int


def slow_channels(communicator: CommunicatorRanks, times: Aligned | None) -> list[SlowChannel]:
    """The slow channels of a communicator, the worst first."""
    by_channel: dict[int, list[tuple[int, float, int]]] = {}
    for rank, one in communicator.ranks.items():
        for channel, factor, count in _of_rank(one, _waits(times, rank)):
            by_channel.setdefault(channel, []).append((rank, factor, count))
    found = [
        SlowChannel(
            channel=channel,
            ranks=tuple(rank for rank, _, _ in some),
            factor=float(np.median([factor for _, factor, _ in some])),
            operations=max(count for _, _, count in some),
        )
        for channel, some in by_channel.items()
    ]
    return sorted(found, key=lambda one: -one.factor)


def _waits(times: Aligned | None, rank: int) -> dict[int, float]:
    """By number of an operation, how long a rank waited in it for the last to come."""
    if times is None or times.ended is None:
        return {}
    place = times.ranks.index(rank) if rank in times.ranks else -1
    if place < 0:
        return {}
    waits = times.began.max(axis=0) - times.began[place]
    return dict(zip(times.collectives["number"].tolist(), waits.tolist(), strict=True))


def _of_rank(of: RankOperations, waits: dict[int, float]) -> list[tuple[int, float, int]]:
    """Channel, factor and number of operations of each slow channel of a rank."""
    records = of.recording.records
    channels = records[(records["kind"] == Kind.CHANNEL) & (records["communicator"] == of.communicator.slot)]
    channels = channels[-MOST:]
    took = _took(channels)
    channels, took = channels[took > 0], took[took > 0]
    recent = of.collectives[-MOST:]
    numbers = dict(zip(recent["record"].tolist(), recent["number"].tolist(), strict=True))
    factors: dict[int, list[float]] = {}
    order = np.argsort(channels["parent"], kind="stable")
    _, starts = np.unique(channels["parent"][order], return_index=True)
    for some in np.split(order, starts[1:]):
        if len(some) < 2:
            continue
        waited = waits.get(numbers.get(int(channels["parent"][some[0]]), 0), 0.0)
        own = np.maximum(took[some] - waited, 1.0)
        if own.max() < LEAST_NS:
            continue
        for place, at in enumerate(some):
            others = float(np.median(np.delete(own, place)))
            factors.setdefault(int(channels["a"][at]), []).append(float(own[place]) / others)
    return [
        (channel, factor, len(some))
        for channel, some in factors.items()
        if len(some) >= FEWEST and (factor := float(np.median(some))) >= SLOW
    ]


def _took(channels: Array) -> Array:
    """In ns, by the GPU's timers where they are known; 0 for those that have not ended."""
    by_gpu = (channels["b"] > 0) & (channels["c"] > channels["b"])
    ended = ended_ns(channels)
    by_host = np.where(ended > 0, ended - channels["start_ns"].astype(np.int64), 0)
    found: Array = np.where(by_gpu, (channels["c"] - channels["b"]).astype(np.int64), by_host)
    return np.where(ended > 0, found, 0)
