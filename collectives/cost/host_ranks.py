# SPDX-License-Identifier: Apache-2.0
"""What the cost model of ranks on host memory (host_cost.py) counts: the ranks, and what an operation comes to."""

from dataclasses import dataclass
from math import ceil, inf

from railgauge.collectives.cost import calibration


@dataclass(frozen=True, slots=True)
class Medium:
    """How a message goes from rank to rank: microseconds of a short one, and what a rank puts there while it takes as
    much from it, in GB/s.
    """

    step_us: float
    gb_per_s: float


BY_MEMORY = Medium(calibration.HOST_STEP_US, inf)
BY_SOCKET = Medium(calibration.HOST_NET_STEP_US, calibration.HOST_SOCKET_GB_PER_S)
BY_RDMA = Medium(calibration.HOST_RDMA_STEP_US, inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRanks:
    """Ranks on equal nodes; `cores` are those that the ranks of one node have together.

    `net_gb_per_s`: what all channels together pass on from one node to the next, over so many interfaces of a node;
    `medium`: how they do.
    """

    ranks: int
    nodes: int = 1
    cores: int
    net_gb_per_s: float = inf
    interfaces: int = 1
    medium: Medium = BY_SOCKET

    @property
    def per_node(self) -> int:
        """Ranks of a node, of the fullest one."""
        return ceil(self.ranks / self.nodes)

    @property
    def turns(self) -> int:
        """How many ranks share a core."""
        return max(1, ceil(self.per_node / self.cores))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What one operation comes to for the rank that has most to do.

    steps: that follow one another, `crossings` of them between nodes. messages: of other ranks, to look at. passed:
    bytes that it puts out and takes in, `apart`: those that it copies while nothing leaves the node, and `leaving`:
    bytes that leave a node, all over nccl-tests' size. senders: the ranks of a node that these leave at a time, each by
    an interface; 0: as many as have interfaces. rounds: how often all ranks wait for one another while the size grows
    by what a board's place holds.
    """

    steps: int
    crossings: int = 0
    messages: int = 0
    passed: float
    apart: float = 0.0
    leaving: float = 0.0
    senders: int = 0
    rounds: float = 0.0
