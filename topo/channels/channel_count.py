# SPDX-License-Identifier: Apache-2.0
"""How many channels: NCCL runs as many of the ring as of the tree, so that both are best at one number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from railgauge import _native
from railgauge.topo.channels.graph import MAX_CHANNELS
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.nccl.graph.host_ranks import CHANNELS_OF_RANK, CORE_GB_PER_S
from railgauge.topo.nccl.graph.model import NodeKind

EQUAL = 1e-3  # totals this close are the same
CLOSE = 5e-2  # trees this close: how the ring chooses among its numbers comes first
AMPLE_GB_PER_S = 20.0  # an NVLink's worth: more channels than that needs only cost GPU blocks
MOST_AMPLE = 16  # NCCL runs each twice; measured on 4 x H200 (benchmarks/nccl_graph): 36 are a tenth slower than 24
HOST_CHANNELS = 2  # faster than one, for 2 ranks and for 8 on 2 cores; the samples were not kept (benchmarks/README.md)
ByCount: TypeAlias = Mapping[int, _native.topo.Packed]  # the best set found of each number of channels


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many channels there may be, and how fast one is at most, in GB/s."""

    least_channels: int
    most_channels: int
    top_gb_per_s: float


def limits_of(wiring: Wiring) -> Limits:
    """For GPUs NCCL's; a host rank has no more channels than cores, and no channel more than a core copies."""
    cores = [len(rank.cpus) or 1 for rank in wiring.ranks if rank.kind is NodeKind.HOST]
    if cores:
        most = max(HOST_CHANNELS, min((*cores, CHANNELS_OF_RANK)))
        return Limits(least_channels=HOST_CHANNELS, most_channels=most, top_gb_per_s=CORE_GB_PER_S)
    top = max(_native.topo.nccl_speeds(wiring.native, leaves)[0] for leaves in (False, True))
    return Limits(least_channels=1, most_channels=MAX_CHANNELS, top_gb_per_s=top)


def most_carrying(found: ByCount, limits: Limits) -> set[int]:
    """The numbers that carry the most, each as much as another."""
    return _most(found, {count for count in found if count >= limits.least_channels}, EQUAL)


def shared_counts(ring: ByCount, tree: ByCount, limits: Limits) -> set[int]:
    """Of the numbers at which the ring carries the most those at which the tree does, or nearly."""
    counts = most_carrying(ring, limits)
    return _most(tree, counts & set(tree), CLOSE) or counts


def _most(found: ByCount, counts: set[int], slack: float) -> set[int]:
    most = max((total(found, count) for count in counts), default=0.0)
    return {count for count in counts if total(found, count) >= most * (1 - slack)}


def total(found: ByCount, count: int) -> float:
    """GB/s of so many channels together; 0 where there are none."""
    return count * found[count].gb_per_s if count in found else 0.0


def choose(found: ByCount, counts: set[int], like: int = 0) -> int:
    """Among equals NCCL's number (`like`), else the most channels of at least an NVLink's worth, else the fewest.

    0 without any.
    """
    if like in counts:
        return like
    ample = [count for count in counts if found[count].gb_per_s >= AMPLE_GB_PER_S and count <= MOST_AMPLE]
    return max(ample) if ample else min(counts, default=0)
