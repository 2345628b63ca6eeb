# SPDX-License-Identifier: Apache-2.0
"""A rank's state: its last operations in each communicator, and which rank it waits for. As tuples, which are sent as
JSON lists.
"""

from typing import NamedTuple

from railgauge.transports.blame import NOBODY, Waits
from railgauge.transports.typed import Unsigned64


class Operation(NamedTuple):
    """One operation of a rank."""

    number: int
    """Among the communicator's operations, from 1."""
    collective: str
    elements: int
    """NCCL's count; 0 of an alltoallv and a barrier."""
    dtype: str
    op: str
    """Empty when it reduces nothing."""
    root: int
    """-1: it has none."""
    algorithm: str
    channels: int
    began_s: float
    """Since 1970; to 10 ms only for one that ended without a wait."""
    took_us: float
    """0: ended without a wait, so not timed; -1: not over."""

    @property
    def is_over(self) -> bool:
        """Whether the rank has left it."""
        return self.took_us >= 0


class BlockedOn(NamedTuple):
    """Which rank a rank waits for, and where."""

    rank: int = -1
    """By the number in the job; -1: nobody."""
    frees_slot: bool = False
    """Whether that rank has to free a slot; else send data."""
    channel: int = -1
    """-1: in a shared segment, which is not a channel."""
    step: int = 0
    """Steps that the operation has done there before."""


class Standing(NamedTuple):
    """One rank in one communicator."""

    communicator: Unsigned64
    """The name of its group (transports/group.py)."""
    ranks: list[int]
    """Of the communicator, by their numbers in the job."""
    operations: list[Operation]
    """The last ones, the oldest first."""
    blocked_on: BlockedOn

    @property
    def running(self) -> Operation | None:
        """The operation that the rank is in."""
        return self.operations[-1] if self.operations and not self.operations[-1].is_over else None

    @property
    def waits(self) -> Waits:
        """The rank waited for, and whether for a slot."""
        return (self.blocked_on.rank, self.blocked_on.frees_slot) if self.running else NOBODY


def current(standings: list[Standing]) -> Standing | None:
    """The rank's communicator in which it waits, else in which it runs an operation, else the last one in which it
    did.
    """
    if not standings:
        return None
    return max(standings, key=lambda each: (each.waits[0] >= 0, each.running is not None, _last_begun(each)))


def _last_begun(standing: Standing) -> float:
    return standing.operations[-1].began_s if standing.operations else 0.0
