# SPDX-License-Identifier: Apache-2.0
"""The measurements between two ranks over one transport, beside the prediction."""

from dataclasses import dataclass, replace

from railgauge.collectives.link.copy_method import CopyMethod
from railgauge.collectives.link.gpu_path import GpuPath
from railgauge.collectives.link.tournament import Pair

Route = tuple[str, int, CopyMethod | None]
"""Transport, rail, and copy method between GPUs."""
Kind = tuple[Route, bool, bool, bool, GpuPath | None, float | None]
FILLS_BYTES = 32 << 20
"""Smaller copies between GPUs do not last long enough beside their start (some 10 us) to show what a path carries."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Planned bytes of a measurement in each direction, and the number that both ends counted, which must be equal."""

    each_way: int
    sent: tuple[int, int]
    received: tuple[int, int]

    def plus(self, other: "Moved") -> "Moved":
        """Of two measurements."""
        return Moved(self.each_way + other.each_way, _sums(self.sent, other.sent), _sums(self.received, other.received))


@dataclass(frozen=True, slots=True)
class PairSample:
    """One measurement of a pair, the best of its turns."""

    gb_per_s: tuple[float, float]
    """One direction, while the other is idle."""
    both_ways_gb_per_s: float
    """Each direction, while both are in use."""
    latency_us: float
    """Half of a short round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """A pair; pairs of values have the direction from the lower rank to the higher first. Bandwidths in GB/s."""

    ranks: Pair
    transport: str
    rail: int
    crosses: bool
    """It leaves the host."""
    one_numa: bool
    """Both ranks are known to be on one NUMA node of one host."""
    round: int
    """The round in which it was measured, from 0; pairs of one round and transport were measured at the same time."""
    sharing: int
    """Pairs that used one interface of a host at that time, including itself; 1 without others."""
    crowded: bool
    """More ranks were busy on a host than it has cores, so they waited for each other."""
    samples: tuple[PairSample, ...]
    """Its measurements; repeated, and alone, if it was unclear which rank or link is slow. The best of each figure is
    used."""
    predicted_gb_per_s: float | None
    """None: unknown to the topology."""
    predicted_latency_us: float | None
    """None between GPUs: there is no model."""
    via: tuple[str, str]
    planned: tuple[str, str]
    wrong: tuple[int, int]
    """Bytes that came otherwise than they were sent."""
    moved: Moved | None
    """None between GPUs: there are no connections that count."""
    method: CopyMethod | None = None
    path: GpuPath | None = None
    """Both for GPUs."""
    is_short: bool = False
    """The long message was below FILLS_BYTES."""

    @property
    def gb_per_s(self) -> tuple[float, float]:
        """One direction, while the other is idle."""
        out, back = (max(each) for each in zip(*(one.gb_per_s for one in self.samples), strict=True))
        return out, back

    @property
    def both_ways_gb_per_s(self) -> float:
        """Each direction, while both are in use."""
        return max(one.both_ways_gb_per_s for one in self.samples)

    @property
    def latency_us(self) -> float:
        """Half of a short round trip."""
        return min(one.latency_us for one in self.samples)

    @property
    def measured(self) -> int:
        """How often."""
        return len(self.samples)

    @property
    def way(self) -> Route:
        """How the bytes went."""
        return self.transport, self.rail, self.method

    @property
    def way_name(self) -> str:
        """For text; rails are numbered if there are several."""
        by = "" if self.method is None else f" by {self.method.label}"
        return f"{self.transport} rail {self.rail}" if self.rail else f"{self.transport}{by}"

    @property
    def kind(self) -> Kind:
        """The key of pairs that should be equally fast."""
        return self.way, self.crosses, self.one_numa, self.crowded, self.path, self.predicted_gb_per_s

    def and_again(self, second: "PairResult") -> "PairResult":
        """With a second measurement, and the total bytes."""
        return replace(
            self,
            samples=self.samples + second.samples,
            wrong=_sums(self.wrong, second.wrong),
            moved=self.moved.plus(second.moved) if self.moved and second.moved else None,
        )


def _sums(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] + b[0], a[1] + b[1]
