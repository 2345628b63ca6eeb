# SPDX-License-Identifier: Apache-2.0
"""What a log has more than one of: ranks, and graphs that were searched."""

from typing import NamedTuple


class Rank(NamedTuple):
    """A rank of a communicator, as it logs itself."""

    comm: str
    rank: int
    size: int
    host: str
    pid: int
    device: int | None
    bus_id: str


class Search(NamedTuple):
    """A graph that NCCL's search found: bandwidth in GB/s of a channel, within a node and between nodes."""

    host: str
    pattern: int
    channels: int
    intra: float
    inter: float
    type_intra: str
    type_inter: str
    cross_nic: int
