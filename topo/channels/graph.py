# SPDX-License-Identifier: Apache-2.0
"""What a search finds: graphs (ring, tree) of channels, with NCCL's fields (`ncclTopoGraph`)."""

from dataclasses import dataclass

from railgauge.topo.element import Element

RING, BALANCED_TREE, TREE, NVLS, COLLNET_DIRECT = 4, 1, 3, 5, 6  # NCCL_TOPO_PATTERN_*
MAX_CHANNELS = 32  # the most that NCCL's ring and tree use


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One ring or tree: its ranks in order, and with several nodes the [in, out] NICs by dev number (else empty)."""

    ranks: tuple[int, ...]
    nets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Channels of one pattern, all of one speed.

    Speeds are GB/s a channel, types are path types, latency_inter is in us.
    """

    pattern: int
    cross_nic: int
    same_channels: int
    type_intra: str
    type_inter: str
    latency_inter: float
    gb_per_s_intra: float
    gb_per_s_inter: float
    search_ms: float
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """Ring and tree of a node. `others` keeps further graphs of a file (NVLS, CollNet) as they were.

    None stands for none.
    """

    ring: Graph
    tree: Graph
    others: tuple[Element, ...] | None = None
