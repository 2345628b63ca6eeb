# SPDX-License-Identifier: Apache-2.0
"""Which settings make stock NCCL faster than its own choice: what to try, what to try again, and when a gain is real.

Runs alternate: a turn is one run with NCCL's choice and one with each setting that is still open at some size, so that
other load affects them equally. Nothing here runs; `measure` does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from railgauge.topo.errors import Error, VerificationError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.steering import NCCL_CHANNELS

LEAST_GAIN = 0.05
"""Of the time: a smaller gain is not worth a setting that has to be looked after."""
ENOUGH, MOST = 5, 9
"""Turns from which on a gain counts, and after which what is open is noise. Of two settings that are equally fast a
given one is faster in all of 5 + 5 runs once in 252 times."""
EARLY = 2
"""Turns after which a setting that was never faster by that is given up."""
OF_ALGORITHM = {
    Collective.ALL_REDUCE: (Algorithm.RING, Algorithm.TREE, Algorithm.NVLS, Algorithm.NVLS_TREE),
    Collective.ALL_GATHER: (Algorithm.RING, Algorithm.NVLS, Algorithm.PAT),
    Collective.REDUCE_SCATTER: (Algorithm.RING, Algorithm.NVLS, Algorithm.PAT),
    Collective.BROADCAST: (Algorithm.RING,),
    Collective.REDUCE: (Algorithm.RING,),
}
"""What NCCL may have for a collective; it refuses what a machine lacks."""
WITH_PROTOCOLS = (Algorithm.RING, Algorithm.TREE)


class NcclWay(NamedTuple):
    """Settings; NCCL chooses what is None."""

    algorithm: Algorithm | None = None
    protocol: Protocol | None = None
    channels: int | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables for NCCL."""
        channels = {"NCCL_MIN_NCHANNELS": self.channels, "NCCL_MAX_NCHANNELS": self.channels}
        wanted = {"NCCL_ALGO": self.algorithm, "NCCL_PROTO": self.protocol} | channels
        return {name: str(value) for name, value in wanted.items() if value is not None}

    @property
    def words(self) -> str:
        """As one would set it."""
        return " ".join(f"{name}={value}" for name, value in self.environment.items()) or "NCCL's choice"


OWN = NcclWay()
"""NCCL's own choice."""
VARIABLES = tuple(NcclWay(Algorithm.RING, Protocol.LL, 1).environment)
"""What a setting may set."""


class NcclTime(NamedTuple):
    """One size in one run; algorithm, protocol and channels are None where NCCL did not log them."""

    time_us: float
    busbw_gb_per_s: float
    algorithm: str | None = None
    protocol: str | None = None
    channels: int | None = None

    @property
    def chosen(self) -> tuple[str | None, str | None, int | None]:
        """What NCCL ran."""
        return self.algorithm, self.protocol, self.channels


BySize = Mapping[int, NcclTime]
Measure = Callable[[NcclWay, bool], BySize]
"""Run with some settings: the times by size in bytes. With True only to see what NCCL chooses: a run whose times do not
count. Error if it fails."""


class GainVerdict(StrEnum):
    """Of a setting at a size."""

    OPEN = "open"
    GAIN = "gain"
    NONE = "none"


def verdict(own: Sequence[float], times: Sequence[float]) -> GainVerdict:
    """Whether a setting is faster than NCCL's choice, by the times of their turns, in any unit."""
    turns = min(len(own), len(times))
    if turns >= EARLY and min(times) > (1 - LEAST_GAIN) * min(own):
        return GainVerdict.NONE
    if turns >= ENOUGH and max(times) < min(own):
        return GainVerdict.GAIN if gain(own, times) >= LEAST_GAIN else GainVerdict.NONE
    return GainVerdict.OPEN


def gain(own: Sequence[float], times: Sequence[float]) -> float:
    """The share of the time that a setting saves."""
    return 1 - median(times) / median(own)


def ways(collective: Collective, channels: int) -> list[NcclWay]:
    """The settings to try. `channels`: how many NCCL takes by itself (0: unknown); half and twice of them are tried."""
    counts = [channels // 2, channels * 2] if channels else []
    numbers = [None, *(count for count in counts if 1 <= count <= NCCL_CHANNELS)]
    kinds = [
        (algorithm, protocol)
        for algorithm in OF_ALGORITHM[collective]
        for protocol in (Protocol if algorithm in WITH_PROTOCOLS else (Protocol.SIMPLE,))
    ]
    return [NcclWay(*kind, count) for kind in [(None, None), *kinds] for count in numbers][1:]  # without OWN


@dataclass
class NcclSweep:
    """What was found so far, by setting and size in bytes.

    samples: what NCCL ran. times: in us, of each turn. verdicts: of the settings that make NCCL run otherwise than it
    chooses. left_out: settings that failed, and why.
    """

    samples: dict[NcclWay, BySize] = field(default_factory=dict)
    times: dict[NcclWay, dict[int, list[float]]] = field(default_factory=dict)
    verdicts: dict[int, dict[NcclWay, GainVerdict]] = field(default_factory=dict)
    left_out: dict[NcclWay, str] = field(default_factory=dict)
    turns: int = 0

    @property
    def open(self) -> list[NcclWay]:
        """The settings that are open at some size."""
        still = (way for its in self.verdicts.values() for way, one in its.items() if one is GainVerdict.OPEN)
        return [way for way in dict.fromkeys(still) if way not in self.left_out]

    def add(self, way: NcclWay, by_size: BySize) -> None:
        """The times of one run."""
        for size, one in by_size.items():
            self.times.setdefault(way, {}).setdefault(size, []).append(one.time_us)

    def decide(self) -> None:
        """Judge what is open, after a turn."""
        for size, its in self.verdicts.items():
            for way in [way for way, one in its.items() if one is GainVerdict.OPEN and way not in self.left_out]:
                its[way] = verdict(self.times[OWN][size], self.times[way][size])

    def gains(self, size: int) -> list[NcclWay]:
        """The settings that are faster at a size, the fastest first."""
        faster = [way for way, one in self.verdicts[size].items() if one is GainVerdict.GAIN]
        return sorted(faster, key=lambda way: median(self.times[way][size]))

    def gain(self, way: NcclWay, size: int) -> float:
        """The share of the time that a setting saves at a size."""
        return gain(self.times[OWN][size], self.times[way][size])


def sweep(
    collective: Collective, measure: Measure, say: Callable[[str], None] = lambda _line: None, most: int = MOST
) -> NcclSweep:
    """Measure until all is decided, or for `most` turns. Error if NCCL's own choice fails, or data is wrong."""
    found = NcclSweep(samples={OWN: measure(OWN, True)})
    own = found.samples[OWN]
    tried = ways(collective, max((one.channels or 0 for one in own.values()), default=0))
    for way in tried:
        try:
            found.samples[way] = measure(way, True)
        except VerificationError:
            raise
        except Error as error:
            found.left_out[way] = str(error)
    found.verdicts = {
        size: {way: GainVerdict.OPEN for way in tried if way in found.samples and _differs(found, way, size)}
        for size in own
    }
    say(f"{len(tried) - len(found.left_out)} of {len(tried)} settings run here")
    while found.turns < most and (still := found.open):
        found.turns += 1
        for way in [OWN, *still] if found.turns % 2 else [*reversed(still), OWN]:
            try:
                found.add(way, measure(way, False))
            except Error as error:
                if way is OWN or isinstance(error, VerificationError):
                    raise
                found.left_out[way] = str(error)
        found.decide()
        say(f"turn {found.turns}: {len(found.open)} of {len(still)} settings are open")
    return found


def _differs(found: NcclSweep, way: NcclWay, size: int) -> bool:
    """Whether a setting makes NCCL run otherwise at a size; also where its log does not say."""
    own, there = found.samples[OWN][size], found.samples[way].get(size)
    return there is not None and (there.algorithm is None or there.chosen != own.chosen)
