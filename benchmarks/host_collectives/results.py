# SPDX-License-Identifier: Apache-2.0
"""Reads the samples of a run: times by collective, hosts and ranks, then by program, placement and size."""

import dataclasses
import json
import pathlib
import statistics
from typing import Any

from benchmarks.host_collectives.collectives import COLLECTIVES

PLACEMENTS = ("out_of_place", "in_place")
OWN = "railgauge"
LIMIT = "floor"  # not a peer
FROM_PYTHON = "-python"
BENCHMARK = "host_collectives"


@dataclasses.dataclass
class Group:
    """The samples of one collective on so many ranks of so many hosts, and the run's first line.

    `times[placement][program][bytes]`: microseconds in the order of repetitions.
    """

    heading: dict[str, Any]
    collective: str
    hosts: int
    ranks: int
    times: dict[str, dict[str, dict[int, list[float]]]]
    predicted_busbw: dict[int, float]

    @property
    def factor(self) -> float:
        """Bus bandwidth over bytes per time."""
        return COLLECTIVES[self.collective].factor(self.ranks)

    def add(self, record: dict[str, Any]) -> None:
        """Add a sample."""
        for placement in PLACEMENTS:
            if record[placement]:
                of = self.times[placement].setdefault(record["peer"], {})
                of.setdefault(record["bytes"], []).append(record[placement]["time_us"])
        if record.get("predicted_busbw_gb_per_s"):
            self.predicted_busbw[record["bytes"]] = record["predicted_busbw_gb_per_s"]

    def sizes(self) -> list[int]:
        """Every size, ascending."""
        return sorted({size for placed in self.times.values() for of in placed.values() for size in of})

    def programs(self, placement: str) -> list[str]:
        """The programs that loop in C and have this placement, in the order in which they took their turns."""
        named = [name for name in self.heading["versions"] if not name.endswith(FROM_PYTHON)]
        return [name for name in named if self.times[placement].get(name)]

    def median(self, placement: str, program: str, size: int) -> float | None:
        """The median time of an operation in microseconds."""
        samples = self.times[placement].get(program, {}).get(size)
        return statistics.median(samples) if samples else None

    def predicted_us(self, size: int) -> float | None:
        """The prediction of railgauge's cost model."""
        busbw = self.predicted_busbw.get(size)
        return size * self.factor / busbw / 1e3 if busbw else None

    def best_peer(self, placement: str, size: int) -> str | None:
        """The fastest program except railgauge, by the median."""
        medians = {
            name: median
            for name in self.programs(placement)
            if name not in (OWN, LIMIT) and (median := self.median(placement, name, size)) is not None
        }
        return min(medians, key=lambda name: medians[name]) if medians else None

    def over(self, placement: str, size: int, program: str | None) -> float | None:
        """How many times railgauge's time this program takes."""
        own = self.median(placement, OWN, size)
        theirs = self.median(placement, program, size) if program else None
        return theirs / own if own and theirs is not None else None


@dataclasses.dataclass(frozen=True)
class Results:
    """The first line, the samples in groups, and what was not measured."""

    heading: dict[str, Any]
    groups: list[Group]
    missing: list[dict[str, Any]]


def read(path: pathlib.Path) -> Results:
    """Read a JSONL file of this benchmark."""
    heading: dict[str, Any] = {}
    groups: dict[tuple[str, int, int], Group] = {}
    missing = []
    for record in map(json.loads, path.read_text().splitlines()):
        if record["schema"] != "railgauge/bench/1" or record["benchmark"] != BENCHMARK:
            raise ValueError(f"{path}: not a result of this benchmark: {record['schema']} {record['benchmark']}")
        if record["kind"] == "machine":
            heading = record
        elif record["kind"] == "missing":
            missing.append(record)
        else:
            key = record["collective"], record["hosts"], record["ranks"]
            empty: dict[str, Any] = {placement: {} for placement in PLACEMENTS}
            groups.setdefault(key, Group(heading, *key, empty, {})).add(record)
    return Results(heading, list(groups.values()), missing)
