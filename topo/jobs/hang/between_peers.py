# SPDX-License-Identifier: Apache-2.0
"""Sends and receives in flight records: those from one rank to another, as both ends called them.

PyTorch numbers them by group and rank, not by pair, so that the two ends do not have the same numbers. Where both rings
have lost nothing, those of a pair are counted from the first; otherwise those that are not over are laid beside each
other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.topo.jobs.hang.model import Call, JobCommunicator, State, Track

AHEAD = 64
"""Calls that are kept of a rank and peer, from the first that is not over."""


@dataclass(slots=True)
class _End:
    """What one rank called: how many are over before the first that is not, and from that one on."""

    over: int = 0
    waiting: list[Call] = field(default_factory=list)
    called: int = 0


class BetweenPeers:
    """Collects the sends and receives of all dumps, and makes lanes of those that wait."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, tuple[int, ...], tuple[int, int]], dict[int, _End]] = {}
        self._comms: dict[tuple[str, tuple[int, ...], tuple[int, int]], JobCommunicator] = {}

    def add(self, comm: JobCommunicator, rank: int, peers: tuple[int, int], call: Call) -> None:
        """Take in a call of a rank, in their order; peers: who sends and who receives, by their ranks in the group."""
        key = comm.title, comm.ranks, peers
        self._comms[key] = comm
        end = self._ends.setdefault(key, {}).setdefault(rank, _End())
        end.called += 1
        if call.state is State.COMPLETED and not end.waiting:
            end.over += 1
        elif call.state is not State.COMPLETED and len(end.waiting) < AHEAD:
            end.waiting.append(call)

    def close(self, whole: Mapping[int, bool]) -> None:
        """Once all dumps are read; whole: by rank that has a dump, whether its ring has lost nothing."""
        for key, ends in self._ends.items():
            if any(end.waiting for end in ends.values()):
                comm = self._comms[key]
                source, target = (comm.ranks[peer] if peer < len(comm.ranks) else peer for peer in key[2])
                lane = comm.lane(f"{source}->{target}")
                lane.peers = source, target
                counted = all(whole.get(rank) for rank in (source, target))
                for rank in {*ends, *(one for one in (source, target) if one in whole)}:
                    lane.put(rank, _track(ends.get(rank, _End()), counted=counted))


def _track(end: _End, *, counted: bool) -> Track:
    over = end.over if counted else 0
    calls = {number: call._replace(number=number) for number, call in enumerate(end.waiting, over + 1)}
    return Track(end.called if counted else len(end.waiting), over, calls)
