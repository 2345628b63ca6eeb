# SPDX-License-Identifier: Apache-2.0
"""The measurement of one pair of GPUs by one copy method: short and long messages timed, every byte of fresh ones
checked.
"""

from dataclasses import dataclass
from typing import Protocol

from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.link.copy_method import CopyMethod, Flow
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.verification import Verification

Checked = tuple[int, int, float, float, float]
"""The fields of a Verification after its kind."""


class GpuLink(Protocol):
    """The path between two GPUs: `native.GpuLink`, or a fake one."""

    def seconds(self, method: int, flow: int, size: int, times: int) -> float:
        """Seconds of one of `times` messages of `size` bytes, including the answer."""

    def check(self, method: int, size: int, seed: int) -> tuple[Checked, Checked]:
        """Send fresh bytes in both directions: what is wrong with those that the lower GPU received, and the higher
        one.
        """

    def abort(self) -> None:
        """End another thread's measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFigures:
    """Seconds of one message, and the number of wrong bytes; pairs of values have the direction to the higher GPU
    first.
    """

    one_way_s: tuple[float, float]
    both_s: float
    there_and_back_s: float
    wrong: tuple[int, int]
    first_wrong: str | None


def room(job: LinkJob) -> int:
    """Bytes of each buffer: for a long message, or a short one with its flags (collectives/native/gpu/link.h)."""
    return max(job.bytes, 2 * (job.latency_bytes + 3))


def measure_pair(link: GpuLink, method: CopyMethod, job: LinkJob, seed: int) -> GpuFigures:
    """Measure in turns, use the best one, and then verify with data of that seed.

    Raises:
        WaitTimeoutError: the GPUs did not finish in time. AbortedError: `abort` was called.
    """

    def turn() -> tuple[float, float, float, float]:
        answered = link.seconds(method, Flow.THERE_AND_BACK, job.latency_bytes, job.short_times)
        out, back, both = (
            link.seconds(method, flow, job.bytes, job.times) for flow in (Flow.OUT, Flow.BACK, Flow.BOTH)
        )
        return answered, out, back, both

    answered, out, back, both = (min(each) for each in zip(*(turn() for _ in range(job.turns)), strict=True))
    sizes = enumerate((job.latency_bytes, job.bytes))
    verdicts = [
        tuple(Verification(PatternKind.RANDOM, *each) for each in link.check(method, size, 2 * seed + number))
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
