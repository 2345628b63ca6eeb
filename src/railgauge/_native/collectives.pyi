"""collectives over connections"""

from collections.abc import Sequence
from typing import Annotated

from numpy.typing import NDArray

import railgauge._native.transports


class RingChannel:
    """A channel as one rank sees it."""

    def __init__(self, position: int, ranks: int, next: railgauge._native.transports.Sender | None, previous: railgauge._native.transports.Receiver | None) -> None: ...

class Communicator:
    """One rank's connected channels, and operations on them."""

    def __init__(self, doorbell: railgauge._native.transports.Doorbell, channels: Sequence[RingChannel], timeout_s: float, spin_s: float, min_channel_bytes: int, stream_bytes: int) -> None: ...

    def all_reduce(self, source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], destination: Annotated[NDArray, dict(order='C', device='cpu')], count: int, dtype: int, op: int, iterations: int = 1) -> list[float]:
        """
        Reduce over all ranks, `iterations` times; return the seconds each took.
        """

    def channels_for(self, bytes: int) -> int: ...

    @property
    def blocked_on(self) -> tuple[int, bool]:
        """
        (rank, whether it has to free a slot; else send data); rank -1: waits for nobody
        """

class Pattern:
    """What every rank's input is, and what a reduction of all has to give."""

    def __init__(self, ranks: int, dtype: int, op: int, seed: int, kind: int = 0) -> None: ...

def fill_pattern(pattern: Pattern, rank: int, data: Annotated[NDArray, dict(order='C', device='cpu')], count: int, first: int = 0) -> None:
    """Write elements first ... first + count - 1 of one rank's input."""

def check_reduced(pattern: Pattern, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, first: int = 0) -> tuple[int, int, float, float]:
    """
    Compare every element with the reduction over all ranks: (wrong, index of the first, expected, got).
    """

def check_copied(pattern: Pattern, rank: int, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, first: int = 0) -> tuple[int, int, float, float]:
    """
    Compare every element with what fill_pattern writes: (wrong, index of the first, expected, got).
    """

def combine(out: Annotated[NDArray, dict(order='C', device='cpu')], inputs: Sequence[Annotated[NDArray, dict(order='C', device='cpu', writable=False)]], dtype: int, op: int, divisor: int = 0, stream: bool = False) -> None:
    """
    out = inputs[0] op inputs[1] op ..., element by element, divided by `divisor` unless that is 0: the kernel that reductions run.
    """
