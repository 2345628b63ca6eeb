# SPDX-License-Identifier: Apache-2.0
"""The time of a collective: a fixed part, and one that grows with the size."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Microseconds of the fixed part, and of the transfer."""

    latency_us: float
    transfer_us: float

    @property
    def time_us(self) -> float:
        """The sum of both."""
        return self.latency_us + self.transfer_us
