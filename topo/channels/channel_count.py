# SPDX-License-Identifier: Apache-2.0
"""The number of channels: NCCL runs the same number for ring and tree, so both have to be good at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from railgauge import _native
from railgauge.topo.channels.graph import MAX_CHANNELS
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.nccl.graph.host_ranks import CHANNELS_OF_RANK, CORE_GB_PER_S
from railgauge.topo.nccl.graph.model import NodeKind

EQUAL = 1e-3  # totals this close are equal
CLOSE = 5e-2  # trees this close are equal, and the ring decides
AMPLE_GB_PER_S = 20.0  # about an NVLink: more channels would only cost GPU blocks
MOST_AMPLE = 16  # NCCL runs each twice; measured on 4 x H200 (benchmarks/nccl_graph): 36 are a tenth slower than 24
HOST_CHANNELS = 2  # faster than one, for 2 ranks and for 8 on 2 cores; the samples were not kept (benchmarks/README.md)
ByCount: TypeAlias = Mapping[int, _native.topo.Packed]  # the best set found of each number of channels


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLimits:
    """The most channels, and the highest speed of one, in GB/s."""

    least_channels: int
    most_channels: int
    top_gb_per_s: float


def limits_of(wiring: Wiring) -> ChannelLimits:
    """GPUs: NCCL's limits. Host ranks: at most one channel per core, at the copy speed of a core."""
    cores = [len(rank.cpus) or 1 for rank in wiring.ranks if rank.kind is NodeKind.HOST]
    if cores:
        most = max(HOST_CHANNELS, min((*cores, CHANNELS_OF_RANK)))
        return ChannelLimits(least_channels=HOST_CHANNELS, most_channels=most, top_gb_per_s=CORE_GB_PER_S)
    top = max(_native.topo.nccl_speeds(wiring.native, leaves)[0] for leaves in (False, True))
    return ChannelLimits(least_channels=1, most_channels=MAX_CHANNELS, top_gb_per_s=top)


def most_carrying(found: ByCount, limits: ChannelLimits) -> set[int]:
    """The numbers of channels with the highest total, all equal."""
    return _most(found, {count for count in found if count >= limits.least_channels}, EQUAL)


def shared_counts(ring: ByCount, tree: ByCount, limits: ChannelLimits) -> set[int]:
    """Of the best numbers for the ring, those that are best, or nearly, for the tree."""
    counts = most_carrying(ring, limits)
    return _most(tree, counts & set(tree), CLOSE) or counts


def _most(found: ByCount, counts: set[int], slack: float) -> set[int]:
    most = max((total(found, count) for count in counts), default=0.0)
    return {count for count in counts if total(found, count) >= most * (1 - slack)}


def total(found: ByCount, count: int) -> float:
    """GB/s of that number of channels together; 0 for none."""
    return count * found[count].gb_per_s if count in found else 0.0


def choose(found: ByCount, counts: set[int], like: int = 0) -> int:
    """Among equals NCCL's number (`like`), else the most channels of at least about an NVLink each, else the fewest.

    0 without channels.
    """
    if like in counts:
        return like
    ample = [count for count in counts if found[count].gb_per_s >= AMPLE_GB_PER_S and count <= MOST_AMPLE]
    return max(ample) if ample else min(counts, default=0)
