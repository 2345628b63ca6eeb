# SPDX-License-Identifier: Apache-2.0
"""What a search finds: graphs (ring, tree) of channels, with NCCL's fields (`ncclTopoGraph`)."""

from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.xml.element import Element

RING, BALANCED_TREE, SPLIT_TREE, TREE, NVLS, COLLNET_DIRECT = 4, 1, 2, 3, 5, 6  # NCCL_TOPO_PATTERN_*
MAX_CHANNELS = 32  # the most that NCCL's ring and tree use


class Policy(StrEnum):
    """Which channels a search returns: the best found, or NCCL's choice."""

    BEST = "best"
    NCCL = "nccl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No set of channels carries more than `gb_per_s`; `why` names what limits.

    The proof: `weights` gives links [from, to, weight >= 0] such that every possible channel weighs at least 1, and
    weight x capacity adds up to the bound.
    """

    gb_per_s: float
    why: str
    weights: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One ring or tree: its ranks in order, and with several nodes the [in, out] NICs by dev_number (else empty)."""

    ranks: tuple[int, ...]
    nets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Channels of one pattern, all of one speed.

    Speeds are GB/s per channel, types are path types, latency_inter is in us. `bound` is None if not computed,
    `difference` says in a sentence why these are not NCCL's channels, if they differ. `running`: the share of the speed
    that is left where the machine has links that run slower than NCCL plans with, `slow` the slowest in words.
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
    bound: Bound | None = None
    difference: str = ""
    running: float = 1.0
    slow: str = ""

    def total(self, nodes: int) -> float:
        """GB/s of all channels together, alone (`nodes` 1) or as one of several nodes."""
        speed = self.gb_per_s_intra if nodes == 1 else min(self.gb_per_s_intra, self.gb_per_s_inter)
        return len(self.channels) * speed

    def real_total(self, nodes: int) -> float:
        """GB/s of all channels together as the links run."""
        return self.total(nodes) * self.running


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """Ring and tree of a node. `others` keeps further graphs of a file (NVLS, CollNet) as they were.

    None if there are none.
    """

    ring: Graph
    tree: Graph
    others: tuple[Element, ...] | None = None


def products(count: int, total: float) -> str:
    """12 channels x 30 GB/s = 360 GB/s."""
    return f"{count} {'channel' if count == 1 else 'channels'} x {total / count:g} GB/s = {total:g} GB/s"
