# SPDX-License-Identifier: Apache-2.0
"""Reads the samples of a run: times by program, placement and size."""

import dataclasses
import json
import pathlib
import statistics
from typing import Any

PLACEMENTS = ("out_of_place", "in_place")
LIMIT = "floor"  # not a peer


@dataclasses.dataclass(frozen=True)
class Results:
    """The first line, and `times[placement][program][bytes]`: microseconds in the order of repetitions."""

    heading: dict[str, Any]
    times: dict[str, dict[str, dict[int, list[float]]]]

    def sizes(self) -> list[int]:
        """Every size, ascending."""
        return sorted({size for placed in self.times.values() for of in placed.values() for size in of})

    def programs(self, placement: str) -> list[str]:
        """The programs that have this placement, in the order in which they took their turns."""
        return [name for name in self.heading["versions"] if self.times[placement].get(name)]

    def median(self, placement: str, program: str, size: int) -> float | None:
        """The median time of an operation in microseconds."""
        samples = self.times[placement].get(program, {}).get(size)
        return statistics.median(samples) if samples else None

    def best_peer(self, placement: str, size: int) -> str | None:
        """The fastest program but railgauge, by the median."""
        medians = {
            name: median
            for name in self.programs(placement)
            if name not in ("railgauge", LIMIT) and (median := self.median(placement, name, size)) is not None
        }
        return min(medians, key=lambda name: medians[name]) if medians else None


def read(path: pathlib.Path) -> Results:
    """Read a JSONL file of this benchmark."""
    heading: dict[str, Any] = {}
    times: dict[str, dict[str, dict[int, list[float]]]] = {placement: {} for placement in PLACEMENTS}
    for record in map(json.loads, path.read_text().splitlines()):
        if record["schema"] != "railgauge/bench/1" or record["benchmark"] != "host_all_reduce":
            raise ValueError(f"{path}: not a result of this benchmark: {record['schema']} {record['benchmark']}")
        if record["kind"] == "machine":
            heading = record
            continue
        for placement in PLACEMENTS:
            if record[placement]:
                of = times[placement].setdefault(record["peer"], {})
                of.setdefault(record["bytes"], []).append(record[placement]["time_us"])
    return Results(heading, times)
