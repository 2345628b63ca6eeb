# SPDX-License-Identifier: Apache-2.0
"""The measurement of one pair of GPUs by one mover: short and long messages timed, every byte of fresh ones checked."""

from dataclasses import dataclass
from typing import Protocol

from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.mover import Flow, Mover

Damage = tuple[int, int]
"""How many bytes came wrong, and the index of the first."""


class GpuLink(Protocol):
    """The way between two GPUs: `native.GpuLink`, or a made-up one."""

    def seconds(self, mover: int, flow: int, size: int, times: int) -> float:
        """What one of `times` messages of `size` bytes takes, an answer included."""

    def check(self, mover: int, size: int, seed: int) -> tuple[Damage, Damage]:
        """Send fresh bytes both ways: what the lower GPU got of them, and the higher one."""

    def abort(self) -> None:
        """End what another thread measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFigures:
    """Seconds of one message, and the bytes that came wrong; what is of each direction has that to the higher first."""

    one_way_s: tuple[float, float]
    both_s: float
    there_and_back_s: float
    wrong: tuple[int, int]
    first_wrong: int | None


def room(job: LinkJob) -> int:
    """Bytes of each buffer: of a long message, or of a short one with its flags (collectives/native/gpu/link.h)."""
    return max(job.bytes, 2 * (job.latency_bytes + 3))


def measure_pair(link: GpuLink, mover: Mover, job: LinkJob, seed: int) -> GpuFigures:
    """Measure in turns, the best of which counts, and then check, with data of that seed's own.

    Raises:
        WaitTimeoutError: the GPUs were not done in time. AbortedError: `abort` was called.
    """

    def turn() -> tuple[float, float, float, float]:
        answered = link.seconds(mover, Flow.THERE_AND_BACK, job.latency_bytes, job.short_times)
        out, back, both = (link.seconds(mover, flow, job.bytes, job.times) for flow in (Flow.OUT, Flow.BACK, Flow.BOTH))
        return answered, out, back, both

    answered, out, back, both = (min(each) for each in zip(*(turn() for _ in range(job.turns)), strict=True))
    damage = [link.check(mover, size, 4 * seed + 2 * n) for n, size in enumerate((job.latency_bytes, job.bytes))]
    firsts = [first for pair in damage for wrong, first in pair if wrong]
    to_low, to_high = (sum(pair[end][0] for pair in damage) for end in (0, 1))
    return GpuFigures(
        one_way_s=(out, back),
        both_s=both,
        there_and_back_s=answered,
        wrong=(to_high, to_low),
        first_wrong=firsts[0] if firsts else None,
    )
