# SPDX-License-Identifier: Apache-2.0
"""What a run needs of a rank's device: two arrays, data in them, operations on them, and how these went."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from railgauge._native import collectives as native
from railgauge.collectives.case import Case
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.verification import Verdict
from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol


@dataclass(frozen=True, slots=True)
class Ran:
    """How an operation was run, None where that is not known, and the bus bandwidth in GB/s that was predicted of it; 0
    where nothing was.
    """

    algorithm: Algorithm | str | None
    protocol: Protocol | str | None
    channels: int | None
    predicted_busbw_gb_per_s: float


class Bench(ABC):
    """A rank's source and destination, each as long as the largest size of the run; all ranks call it alike."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    @abstractmethod
    def fill(self, case: Case, pattern: native.Pattern, *, in_place: bool) -> None:
        """Write this rank's input, and into the destination what must not look right."""

    @abstractmethod
    def repeat(self, case: Case, *, in_place: bool, ahead: int = 0, times: int = 1) -> float:
        """Run it `ahead` and then `times` times; the seconds that one of the latter took."""

    @abstractmethod
    def verify(self, case: Case, pattern: native.Pattern, kind: PatternKind, *, in_place: bool) -> Verdict:
        """Compare all that the destination has to hold."""

    @abstractmethod
    def ran(self, case: Case) -> Ran:
        """How such an operation is run; asked after it was."""

    @abstractmethod
    def floor_s(self, case: Case, times: int) -> float | None:
        """What memory sets as the limit, measured by all ranks at once; None where it is not the limit."""
