# SPDX-License-Identifier: Apache-2.0
"""What a measurement of links was asked to do."""

from dataclasses import dataclass

from railgauge.collectives.device import Device
from railgauge.collectives.link.tournament import Pair, one_at_a_time, rounds
from railgauge.transports.fault import Fault

AHEAD = 1
"""Untimed messages before the timed ones."""
TURNS = 4
"""A pair is measured in this many turns, each of all that is measured, and the best of each is used: other load then
affects all equally."""
SHORT_PER_LONG = {Device.CPU: 25, Device.CUDA: 200}
"""Short messages are timed this many times more often than long ones: they take microseconds, and so does starting a
kernel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkJob:
    """The flags of `railgauge link`, read and checked. Sizes in bytes, times in seconds."""

    device: Device = Device.CPU
    """The ends of the links: ranks on the host, or GPUs."""
    bytes: int
    """Size of the messages that measure bandwidth."""
    latency_bytes: int
    iterations: int
    timeout_s: float
    transport: str | None = None
    """Only this one; None: all available ones."""
    pair: Pair | None = None
    """Only these two."""
    one_at_a_time: bool = False
    bisect: bool = False
    """Find one slow node by bisection, instead of measuring pairs."""
    fault: Fault | None = None
    save_capture: str | None = None
    """The file in which the first rank of each node saves what it read of the node."""

    @property
    def turns(self) -> int:
        """The number of turns in which a pair is measured."""
        return min(TURNS, self.iterations)

    @property
    def times(self) -> int:
        """Timed long messages of a turn."""
        return -(-self.iterations // self.turns)

    @property
    def short_times(self) -> int:
        """Timed round trips of a turn."""
        return self.times * SHORT_PER_LONG[self.device]

    @property
    def bytes_each_way(self) -> int:
        """Bytes from one rank of a pair to the other in a measurement: one direction, both, short messages, and
        verification.
        """
        long = self.turns * 2 * (AHEAD + self.times) + 1
        short = self.turns * (AHEAD + self.short_times) + 1
        return long * self.bytes + short * self.latency_bytes

    def rounds(self, ranks: int) -> list[list[Pair]]:
        """Which pairs are measured when."""
        if self.pair:
            return [[self.pair]]
        return one_at_a_time(ranks) if self.one_at_a_time else rounds(ranks)

    def agreed(self) -> dict[str, str]:
        """The options, by flag and as text, that must be the same on every rank."""
        return {
            "-b": str(self.bytes),
            "--latency-bytes": str(self.latency_bytes),
            "-n": str(self.iterations),
            "--transport": self.transport or "",
            "the pair": str(self.pair or ""),
            "--one-at-a-time": str(self.one_at_a_time),
            "--bisect": str(self.bisect),
            "--fault": str(self.fault or ""),
        }
