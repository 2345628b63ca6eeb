# SPDX-License-Identifier: Apache-2.0
"""A lane that does not go on: the operation that ranks are in and others are not, and who is who."""

from dataclasses import dataclass

from railgauge.topo.jobs.hang.model import Call, JobCommunicator, Lane, State

WATCHDOG = "watchdog"
"""The source that has the lines of those watchdogs alone that were pasted."""
FIRST = 1
"""PyTorch counts the operations of a group from 1, releases before 2.2 from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One lane that does not go on, at the operation `number`, by rank: who is in it, has not called it, is through it.

    silent: without any data. untold: without data in this lane. gone: not reached by RAS.
    call: how one rank called it; None where calls are only counted.
    """

    comm: JobCommunicator
    name: str
    lane: Lane
    number: int
    call: Call | None
    waiting: tuple[int, ...]
    behind: tuple[int, ...]
    through: tuple[int, ...]
    silent: tuple[int, ...]
    untold: tuple[int, ...]
    gone: tuple[int, ...]

    @property
    def operation(self) -> str:
        """`all_reduce #41`, `recv from rank 3`."""
        if self.lane.peers:
            source, target = self.lane.peers
            if len(self.waiting) > 1:
                return f"the send from rank {source} to rank {target}"
            return f"recv from rank {source}" if self.waiting == (target,) else f"send to rank {target}"
        return f"{(self.call and self.call.name) or self.name or 'collective'} #{self.number}"

    @property
    def since(self) -> str:
        """When the first of those that are in it began it; "" if unknown."""
        calls = (self.lane.tracks[rank].calls.get(self.number) for rank in self.waiting)
        return min((call.since for call in calls if call and call.since), default="")

    @property
    def is_told(self) -> bool:
        """Whether those that have called it are known to be still in it."""
        return any(self.lane.tracks[rank].waits_in is not None for rank in self.waiting)

    @property
    def is_short_of_few(self) -> bool:
        """Whether so few ranks lack data that these ranks are at fault, not the collection. Where watchdogs alone
        speak, and of a first operation, it may be that nothing gets through: those without data may have called it too.
        """
        few = bool(self.silent) and 2 * len(self.silent) < len(self.comm.members)
        return few and not (self.number <= FIRST and self.timed_out and self.comm.sources.keys() == {WATCHDOG})

    @property
    def timed_out(self) -> bool:
        """Whether a watchdog gave up on it."""
        calls = (self.lane.tracks[rank].calls.get(self.number) for rank in self.waiting)
        return any(call.timed_out for call in calls if call)


def begun(hold: Hold) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of those that are in it: whose GPU has begun it, and whose has not, or is unknown."""
    states = {rank: hold.lane.tracks[rank].calls.get(hold.number) for rank in hold.waiting}
    started = tuple(rank for rank, call in states.items() if call and call.state is State.STARTED)
    return started, tuple(rank for rank in hold.waiting if rank not in started)
