# SPDX-License-Identifier: Apache-2.0
"""What a log has more than one of: ranks, graphs that were searched, errors."""

from dataclasses import dataclass, field
from typing import NamedTuple

from railgauge.topo.jobs.logs.catalogue import Entry
from railgauge.topo.jobs.logs.moment import Moment


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


@dataclass(slots=True)
class Sighting:
    """An error: its count, its hosts, and its first text."""

    entry: Entry
    text: str
    times: int = 0
    hosts: set[str] = field(default_factory=set)
    moments: dict[int, Moment] = field(default_factory=dict)
    """When it came first in each file."""
    named: dict[str, set[str]] = field(default_factory=dict)
    """What completions name: peers, hcas, GIDs."""
