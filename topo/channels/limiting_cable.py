# SPDX-License-Identifier: Apache-2.0
"""The cable of a fabric that limits channels, or messages in pairs."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class LimitingCable(NamedTuple):
    """Of the cables that messages take, the one with the most data for its speed; its ends as the data goes.

    share: of what the busiest node sends to the network, what goes over this cable.
    """

    source: str
    target: str
    gb_per_s: float
    share: float

    @property
    def allows(self) -> float:
        """GB/s that a node may send before this cable is full."""
        return self.gb_per_s / self.share

    @property
    def words(self) -> str:
        """Which one it is, and what it carries."""
        carried = f"carries {self.share:.3g} of what a node sends"
        return f"{self.source} -> {self.target}: {self.gb_per_s:g} GB/s, {carried}"


Nets: TypeAlias = tuple[tuple[int, ...], ...]
"""The NICs [in, out] of each channel by dev number."""
CableOf: TypeAlias = Callable[[int, Nets, bool], LimitingCable | None]
"""For so many nodes and the NICs of channels, which are trees or rings; None if it is unknown."""
Sent: TypeAlias = tuple[tuple[int, float], ...]
"""What a node sends by each of its NICs, by dev number, in bytes for one byte of each rank."""
PairCableOf: TypeAlias = Callable[[int, Sent, bool], LimitingCable | None]
"""For so many nodes that send to all others or each to the next; None if it is unknown."""
