# SPDX-License-Identifier: Apache-2.0
"""The operations that all ranks of a communicator have, on one clock.

Collectives are barriers: none that gives every rank data of every other ends anywhere before all have begun, and all
end within the time of a chunk. So the ends show what the clocks of two GPUs differ by, and how that drifts; the median
of the operations around each one is taken. Without ends in the recording only calls are compared: by the host's own
clock between ranks of one host, else by the hosts' wall clocks.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from railgauge.topo.jobs.recordings.job import CommunicatorRanks
from railgauge.topo.jobs.recordings.operations import RankOperations
from railgauge.topo.jobs.recordings.recording import Array

BARRIERS = ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll")
WINDOW = 64
"""Operations before and behind one whose ends show the difference of two clocks."""
FEWEST_ENDS = 3
MOST = 20_000
"""Operations that are compared, the newest."""


class Clock(StrEnum):
    """What the times are of."""

    GPU = "GPU timers"
    PROXY = "the host's view of the kernels"
    CALLS = "calls of the program"
    WALL = "calls of the program, by the hosts' wall clocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """The collectives that all given ranks have: a row for each rank, a column for each. In ns of one clock.

    began: when a rank came. ended: None without ends. collectives: those of the first rank. apart_ns: what the hosts'
    wall clocks differ by if that is so much that nothing can be compared, else 0.
    """

    clock: Clock
    ranks: tuple[int, ...]
    collectives: Array
    began: Array
    ended: Array | None
    unix_ns: int
    apart_ns: int = 0

    @property
    def last(self) -> Array:
        """By operation, the place of the rank that came last."""
        found: Array = np.argmax(self.began, axis=0)
        return found

    @property
    def margins_ns(self) -> Array:
        """By operation, how long the others waited for that rank: from the median of their begins to its own."""
        if not self.began.size:
            return np.empty(0)
        came = np.sort(self.began, axis=0)
        found: Array = came[-1] - np.median(came[:-1], axis=0)
        return found

    @property
    def took_ns(self) -> Array | None:
        """By operation, the time from when all had come until the last was through."""
        if self.ended is None or not self.began.size:
            return None
        found: Array = np.maximum(self.ended.max(axis=0) - self.began.max(axis=0), 1)
        return found


def aligned(communicator: CommunicatorRanks) -> Aligned | None:
    """The operations that all recorded ranks have; None for fewer than two ranks, or none in common."""
    ranks = {rank: one for rank, one in communicator.ranks.items() if one.collectives.size}
    if len(ranks) < 2:
        return None
    chosen = {rank: one.collectives[one.collectives["number"] > 0] for rank, one in ranks.items()}
    both = _common(chosen)
    if not both:
        return None
    first = both[0]
    operations = ranks[min(ranks)]
    barrier = _barriers(operations, first)
    for clock, begin, end in ((Clock.GPU, "gpu_began_ns", "gpu_ended_ns"), (Clock.PROXY, "began_ns", "ended_ns")):
        timed = np.all([(one[begin] > 0) & (one[end] > 0) for one in both], axis=0)
        if np.count_nonzero(timed & barrier) >= FEWEST_ENDS:
            began = np.array([one[begin][timed] for one in both])
            ended = np.array([one[end][timed] for one in both])
            shift = _shifts(ended, barrier[timed])
            unix = int(np.min(first["began_ns"][timed] - began[0])) + operations.recording.offset_ns
            return Aligned(
                clock=clock,
                ranks=tuple(ranks),
                collectives=first[timed],
                began=began - shift,
                ended=ended - shift,
                unix_ns=unix,
            )
    return _by_calls(ranks, both)


def _common(chosen: dict[int, Array]) -> list[Array]:
    """The operations that all have, by their numbers."""
    numbers: Array | None = None
    for one in chosen.values():
        numbers = one["number"] if numbers is None else np.intersect1d(numbers, one["number"])
    if numbers is None or not numbers.size:
        return []
    numbers = numbers[-MOST:]
    found = []
    for one in chosen.values():
        _, place, _ = np.intersect1d(one["number"], numbers, return_indices=True)
        found.append(one[place])
    return found


def _barriers(operations: RankOperations, collectives: Array) -> Array:
    codes = [code for code, name in enumerate(operations.recording.names[0]) if name in BARRIERS]
    found: Array = np.isin(collectives["function"], codes)
    return found


def _shifts(ended: Array, barrier: Array) -> Array:
    """By rank and operation, what the rank's clock is ahead of the first rank's."""
    places = np.flatnonzero(barrier)
    found = np.zeros(ended.shape, ended.dtype)
    for rank in range(1, len(ended)):
        difference = (ended[rank] - ended[0])[places]
        around = np.lib.stride_tricks.sliding_window_view(
            np.pad(difference, min(WINDOW, len(places) - 1), mode="reflect"), 2 * min(WINDOW, len(places) - 1) + 1
        )
        smooth = np.median(around, axis=1).astype(ended.dtype)
        nearest = np.minimum(np.searchsorted(places, np.arange(ended.shape[1])), len(places) - 1)
        found[rank] = smooth[nearest]
    return found


def _by_calls(ranks: dict[int, RankOperations], both: list[Array]) -> Aligned:
    recordings = [one.recording for one in ranks.values()]
    one_host = len({one.boot_id or one.path for one in recordings}) == 1
    offsets = [recordings[0].offset_ns if one_host else one.offset_ns for one in recordings]
    began = np.array([one["called_ns"] + offset for one, offset in zip(both, offsets, strict=True)])
    return Aligned(
        clock=Clock.CALLS if one_host else Clock.WALL,
        ranks=tuple(ranks),
        collectives=both[0],
        began=began,
        ended=None,
        unix_ns=0,
        apart_ns=0 if one_host else _apart_ns(began),
    )


def _apart_ns(began: Array) -> int:
    """How far two ranks are apart of which one called its last operation before the other called its first: clocks that
    differ, since collectives wait for each other. 0: no two are.
    """
    gap = int(began.min(axis=1).max()) - int(began.max(axis=1).min())
    return max(gap, 0)
