# SPDX-License-Identifier: Apache-2.0
"""What a run needs of a rank's device: two arrays, data in them, operations on them, and how these went."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.verification import Verification
from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol


@dataclass(frozen=True, slots=True)
class Ran:
    """How an operation was run, None where that is not known, and its predicted bus bandwidth in GB/s; 0 without a
    prediction.
    """

    algorithm: Algorithm | str | None
    protocol: Protocol | str | None
    channels: int | None
    predicted_busbw_gb_per_s: float


class Bench(ABC):
    """A rank's source and destination, each as long as the largest size of the run; all ranks call it with the same
    arguments.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    @abstractmethod
    def fill(self, case: OperationCase, pattern: native.Pattern, *, in_place: bool) -> None:
        """Write this rank's input, and fill the destination with values that no result has."""

    @abstractmethod
    def repeat(self, case: OperationCase, *, in_place: bool, ahead: int = 0, times: int = 1) -> float:
        """Run it `ahead` times untimed and then `times` times; returns the seconds of one of the latter."""

    @abstractmethod
    def verify(
        self, case: OperationCase, pattern: native.Pattern, kind: PatternKind, *, in_place: bool
    ) -> Verification:
        """Compare the whole destination with the expected result."""

    @abstractmethod
    def ran(self, case: OperationCase) -> Ran:
        """How such an operation is run; call it afterwards."""

    @abstractmethod
    def floor_s(self, case: OperationCase, times: int) -> float | None:
        """The limit that memory bandwidth sets, measured by all ranks at once; None where memory is not the limit."""
