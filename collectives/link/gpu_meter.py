# SPDX-License-Identifier: Apache-2.0
"""The measurement of one pair of GPUs by one mover: short and long messages timed, every byte of fresh ones checked."""

from dataclasses import dataclass
from typing import Protocol

from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.mover import Flow, Mover
from railgauge.collectives.verification import Verdict

Checked = tuple[int, int, float, float, float]
"""What a Verdict holds after its kind."""


class GpuLink(Protocol):
    """The way between two GPUs: `native.GpuLink`, or a made-up one."""

    def seconds(self, mover: int, flow: int, size: int, times: int) -> float:
        """What one of `times` messages of `size` bytes takes, an answer included."""

    def check(self, mover: int, size: int, seed: int) -> tuple[Checked, Checked]:
        """Send fresh bytes both ways: what is wrong with those that the lower GPU got, and the higher one."""

    def abort(self) -> None:
        """End what another thread measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFigures:
    """Seconds of one message, and the bytes that came wrong; what is of each direction has that to the higher first."""

    one_way_s: tuple[float, float]
    both_s: float
    there_and_back_s: float
    wrong: tuple[int, int]
    first_wrong: str | None


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
    sizes = enumerate((job.latency_bytes, job.bytes))
    verdicts = [
        tuple(Verdict(PatternKind.RANDOM, *each) for each in link.check(mover, size, 2 * seed + number))
        for number, size in sizes
    ]
    wrong = [one for pair in verdicts for one in pair if one.wrong]
    to_low, to_high = (sum(pair[end].wrong for pair in verdicts) for end in (0, 1))
    return GpuFigures(
        one_way_s=(out, back),
        both_s=both,
        there_and_back_s=answered,
        wrong=(to_high, to_low),
        first_wrong=str(wrong[0]) if wrong else None,
    )
