# SPDX-License-Identifier: Apache-2.0
"""What a collective takes: a time that passes whatever the size, and one that grows with it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Microseconds that pass whatever the size, and those that the bytes take."""

    latency_us: float
    transfer_us: float

    @property
    def time_us(self) -> float:
        """Both together."""
        return self.latency_us + self.transfer_us
