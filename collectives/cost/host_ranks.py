# SPDX-License-Identifier: Apache-2.0
"""What the cost model of ranks on host memory (host_cost.py) counts: the ranks, and the work of an operation."""

from dataclasses import dataclass
from math import ceil, inf

from railgauge.collectives.cost import calibration


@dataclass(frozen=True, slots=True)
class Medium:
    """A medium between ranks: microseconds of a short message, the GB/s that a rank sends while it receives as much,
    and the share of its time by which an exchange takes longer whose ends send and take slot by slot in turn.
    """

    step_us: float
    gb_per_s: float
    in_turn: float = 0.0


BY_MEMORY = Medium(calibration.HOST_STEP_US, inf)
BY_SOCKET = Medium(calibration.HOST_NET_STEP_US, calibration.HOST_SOCKET_GB_PER_S, calibration.HOST_IN_TURN)
BY_RDMA = Medium(calibration.HOST_RDMA_STEP_US, inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRanks:
    """Ranks on equal nodes; `cores` are those that the ranks of one node have together.

    `net_gb_per_s`: what all channels together carry from one node to the next, and over how many interfaces of a node;
    `medium`: by which medium.
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
class HostMoves:
    """The work of one operation for the busiest rank.

    steps: consecutive ones, `crossings` of them between nodes. messages: of other ranks, to read. passed: bytes that it
    writes and reads, `apart`: those that it copies while nothing leaves the node, and `leaving`: bytes that leave a
    node, all over nccl-tests' size. senders: the ranks of a node that send these at a time, each through an interface;
    0: as many as have interfaces. in_turn: whether both ends of a step send and take slot by slot in turn. rounds: how
    often all ranks wait for one another while the size grows by what a slot of a shared segment holds.
    """

    steps: int
    crossings: int = 0
    messages: int = 0
    passed: float
    apart: float = 0.0
    leaving: float = 0.0
    senders: int = 0
    in_turn: bool = False
    rounds: float = 0.0
