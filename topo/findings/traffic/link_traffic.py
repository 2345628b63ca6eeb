# SPDX-License-Identifier: Apache-2.0
"""The planned traffic of one link in one direction, compared with its counters."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind
from railgauge.topo.findings.finding import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTraffic:
    """One link of `host`, one direction.

    planned_bytes is payload; seen_bytes is all that the link counted, with headers, None if unknown. level:
    PASS if at least the planned bytes were counted, FAIL if they were counted elsewhere (by link, the bytes beyond its
    own plan), UNKNOWN if undecided, INFO if nothing was planned. why: in words.
    """

    host: str
    link: str
    kind: CounterKind
    way: ByteDirection
    planned_bytes: int
    seen_bytes: int | None
    level: Level
    why: str = ""
    elsewhere_bytes: Mapping[str, int] = field(default_factory=dict)
    packets: int | None = None
    errors: int | None = None
    dropped: int | None = None

    @property
    def ratio(self) -> float | None:
        """Bytes seen for each planned; None without either."""
        return self.seen_bytes / self.planned_bytes if self.seen_bytes is not None and self.planned_bytes else None

    def to_json(self) -> dict[str, Any]:
        """As a record of a run's document."""
        return {**asdict(self), "ratio": self.ratio}
