# SPDX-License-Identifier: Apache-2.0
"""What a pair is held against when it has too few others of its kind: an older result, else the prediction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from railgauge.collectives.device import Device
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.pair_result import PairResult
from railgauge.collectives.result_file import load_document
from railgauge.topo.errors import InputError

SCHEMA = "railgauge/link/1"
MOST = 1e9
"""GB/s or microseconds that a file may have."""
GOOD = 0.75
"""The share of the expected bandwidth below which a pair is slow."""
LATENCY_TIMES = {False: 4.0, True: 2.0}
"""How many times the predicted latency counts as slow, and the older one: cores and their sleep states differ more
between hosts than the model knows, while one host repeats its figure."""


class Figures(NamedTuple):
    """Of one direction: GB/s, and the microseconds of a short message; None where unknown."""

    gb_per_s: float | None
    latency_us: float | None


UNKNOWN = Figures(None, None)


@dataclass(frozen=True, slots=True)
class OlderLinks:
    """An older result: figures by the names of both ends, transport, rail and copy method."""

    path: str
    bytes: int
    figures: Mapping[tuple[str, str, str, int, str | None], Figures]


class Beside(NamedTuple):
    """A measured figure beside what it has to reach, and whose that is."""

    measured: float
    expected: float
    whose: str
    older: bool


def load_older(path: str) -> OlderLinks:
    """The result of `link` that --against names. InputError: it cannot be read, or is no such document."""
    found = load_document(path, SCHEMA, "a measurement of links", "railgauge link --json and -o FILE.json")
    try:
        ranks = [RankPlace(rank=one["rank"], host=str(one["host"]), numa=None) for one in found["ranks"]]
        names = LinkResult(job=_job(found), ranks=ranks)
        figures = {
            (
                names.name(one["from"]),
                names.name(one["to"]),
                str(one["transport"]),
                int(one["rail"]),
                one["by"],
            ): Figures(_speed(one["gb_per_s"]), _speed(one["latency_us"]))
            for one in found["links"]
        }
        return OlderLinks(path, int(found["bytes"]), figures)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"not a measurement of links: {error}", path) from None


def _job(found: Mapping[str, object]) -> LinkJob:
    """As much of the old request as the names of ends need."""
    device = Device.CUDA if found["device"] == Device.CUDA else Device.CPU
    return LinkJob(device=device, bytes=1, latency_bytes=1, iterations=1, timeout_s=1.0)


def _speed(value: object) -> float | None:
    """A figure of the file; ValueError for one that no link has."""
    if value is None:
        return None
    if not isinstance(value, int | float) or not 0 < value < MOST:
        raise ValueError(f"{value!r} is no bandwidth or latency")
    return float(value)


def beside(link: PairResult, of_latency: bool, older: "OlderPair | None") -> list[Beside]:
    """GB/s of both directions, or the latency in us, beside what is expected where something is."""
    if of_latency:
        before = older.figures(link.ranks).latency_us if older else None
        measured = [(link.latency_us, before, link.predicted_latency_us)]
    else:
        ways = zip(link.gb_per_s, (link.ranks, link.ranks[::-1]), strict=True)
        is_known = link.path is None or (link.path.nvlinks and not link.is_short)  # not through PCIe
        predicted = link.predicted_gb_per_s if is_known else None
        measured = [(value, older.figures(ends).gb_per_s if older else None, predicted) for value, ends in ways]
    found = []
    for value, before, model in measured:
        if older and before:
            found.append(Beside(value, before, f"{before:.3g} in {older.path}", True))
        elif model:
            found.append(Beside(value, model, f"the predicted {model:.3g}", False))
    return found


@dataclass(frozen=True, slots=True)
class OlderPair:
    """What an older result has of a pair."""

    result: LinkResult
    link: PairResult
    older: OlderLinks

    @property
    def path(self) -> str:
        """The file."""
        return self.older.path

    def figures(self, ends: Sequence[int]) -> Figures:
        """Of the direction from the first end to the second."""
        if self.older.bytes != self.result.job.bytes:
            return UNKNOWN
        by = None if self.link.method is None else self.link.method.label
        names = (self.result.name(ends[0]), self.result.name(ends[1]))
        return self.older.figures.get((*names, self.link.transport, self.link.rail, by), UNKNOWN)
