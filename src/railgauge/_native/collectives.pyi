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

def fill_pattern(data: Annotated[NDArray, dict(order='C', device='cpu')], count: int, rank: int, ranks: int, dtype: int, op: int, seed: int) -> None:
    """Write one rank's input of `count` elements."""

def check_pattern(data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, ranks: int, dtype: int, op: int, seed: int) -> tuple[int, int, float, float]:
    """Compare every element: (wrong, index of the first, expected, got)."""
