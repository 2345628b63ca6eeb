# SPDX-License-Identifier: Apache-2.0
"""Reads the samples of a result file."""

import json
import pathlib
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from benchmarks.host_collectives.collectives import COLLECTIVES

OWN, OWN_SYMMETRIC = "railgauge", "railgauge-symmetric"
"""Our engine, on plain memory and on memory that all ranks map."""
Name = tuple[str, str, int, str]
"""Collective, kind of launch, bytes, contender."""


@dataclass(frozen=True, slots=True)
class Results:
    """Microseconds of all samples by name, and the other figures of the file."""

    heading: dict[str, Any]
    samples: dict[Name, list[float]]
    versions: dict[str, str]
    missing: list[dict[str, Any]]
    copies_gb_per_s: float | None
    """Each direction, both at once; None if not measured."""
    predicted: dict[tuple[str, int], float]
    """Our bus bandwidth in GB/s, by collective and bytes."""

    @classmethod
    def read(cls, path: pathlib.Path) -> "Results":
        """From a file; the first line is its heading."""
        heading, *records = [json.loads(line) for line in path.read_text().splitlines()]
        samples: defaultdict[Name, list[float]] = defaultdict(list)
        predicted = {}
        for one in records:
            if one["kind"] == "sample":
                samples[one["collective"], one["launch"], one["size"], one["contender"]].append(one["us"])
                if one["contender"] == OWN and one.get("predicted_busbw_gb_per_s"):
                    predicted[one["collective"], one["size"]] = one["predicted_busbw_gb_per_s"]
        versions = {one["contender"]: one["version"] for one in records if one["kind"] == "version"}
        copies = [one["gb_per_s_each_way"] for one in records if one["kind"] == "copies"]
        missing = [one for one in records if one["kind"] == "missing"]
        return cls(heading, dict(samples), versions, missing, copies[0] if copies else None, predicted)

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Collectives and kinds of launch, as they were measured."""
        return list(dict.fromkeys((collective, launch) for collective, launch, _, _ in sorted(self.samples)))

    def sizes(self, collective: str, launch: str) -> list[int]:
        """Of a group, rising."""
        return sorted({name[2] for name in self.samples if name[:2] == (collective, launch)})

    @property
    def contenders(self) -> list[str]:
        """Those with a sample, ours first."""
        found = {name[3] for name in self.samples}
        return sorted(found, key=lambda name: (not name.startswith(OWN), name))

    def median_us(self, collective: str, launch: str, size: int, contender: str) -> float | None:
        """Of all samples; None without any."""
        times = self.samples.get((collective, launch, size, contender))
        return statistics.median(times) if times else None

    def best_nccl_us(self, collective: str, launch: str, size: int) -> float | None:
        """NCCL's best contender."""
        return self._best_us(collective, launch, size, own=False)

    def best_own_us(self, collective: str, launch: str, size: int) -> float | None:
        """Ours, on plain or on symmetric memory."""
        return self._best_us(collective, launch, size, own=True)

    def _best_us(self, collective: str, launch: str, size: int, *, own: bool) -> float | None:
        names = [name for name in self.contenders if name.startswith(OWN) == own]
        times = (self.median_us(collective, launch, size, name) for name in names)
        return min((us for us in times if us is not None), default=None)

    def busbw(self, collective: str, size: int, us: float) -> float:
        """GB/s."""
        return size / us / 1e3 * COLLECTIVES[collective].factor(self.heading["gpus"])
