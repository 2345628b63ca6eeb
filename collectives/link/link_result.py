# SPDX-License-Identifier: Apache-2.0
"""The result of measuring links (schema railgauge/link/1), as it grows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from railgauge.collectives.device import Device
from railgauge.collectives.link.bisection import Bisection
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.pair_result import PairResult
from railgauge.topo.errors import verdict_of
from railgauge.topo.findings.finding import Finding
from railgauge.topo.render.findings import record


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """Where a rank is; `numa` is None where its NUMA node is unknown. `gpu` is its bus id where ranks are GPUs."""

    rank: int
    host: str
    numa: int | None
    gpu: str | None = None


@dataclass(slots=True, kw_only=True)
class LinkResult:
    """Ranks are empty before the rendezvous; `links` are those measured before an error."""

    job: LinkJob
    ranks: list[RankPlace] = field(default_factory=list)
    links: list[PairResult] = field(default_factory=list)
    bisection: Bisection | None = None
    error: str | None = None

    @property
    def noun(self) -> str:
        """The noun for the ends of the links."""
        return "GPU" if self.job.device is Device.CUDA else "rank"

    def name(self, rank: int) -> str:
        """A rank's name: its host if each host has only one, else its number; a GPU by its number."""
        if self.job.device is Device.CUDA:
            return f"{self.noun} {rank}"
        hosts = [each.host for each in self.ranks]
        if len(set(hosts)) == len(hosts):
            return hosts[rank]
        return f"rank {rank}" if len(set(hosts)) == 1 else f"rank {rank} on {hosts[rank]}"

    def content(self, findings: Sequence[Finding]) -> dict[str, Any]:
        """The document without its head; a link for each direction."""
        job, halves = self.job, self.bisection
        return {
            "status": verdict_of(self.error),
            "error": self.error,
            "bytes": job.bytes,
            "latency_bytes": job.latency_bytes,
            "iterations": job.iterations,
            "device": job.device,
            "one_at_a_time": job.one_at_a_time,
            "ranks": [asdict(each) for each in self.ranks],
            "links": [entry for link in self.links for entry in directions(link)],
            "bisection": halves and asdict(halves),
            "findings": [record(finding) for finding in findings],
        }


def directions(link: PairResult) -> list[dict[str, Any]]:
    """A pair as two entries, from the lower rank to the higher and back."""
    low, high = link.ranks
    predicted, moved, path = link.predicted_gb_per_s, link.moved, link.path
    return [
        {
            "from": source,
            "to": target,
            "transport": link.transport,
            "rail": link.rail,
            "by": None if link.method is None else link.method.label,
            "path_type": path and path.type,
            "nvlinks": path and path.nvlinks,
            "via": link.via[way],
            "planned": link.planned[way],
            "round": link.round,
            "sharing": link.sharing,
            "crowded": link.crowded,
            "measured": link.measured,
            "gb_per_s": link.gb_per_s[way],
            "predicted_gb_per_s": predicted,
            "ratio": link.gb_per_s[way] / predicted if predicted else None,
            "both_ways_gb_per_s": link.both_ways_gb_per_s,
            "latency_us": link.latency_us,
            "predicted_latency_us": link.predicted_latency_us,
            "wrong": link.wrong[way],
            "bytes_planned": moved and moved.each_way,
            "bytes_sent": moved and moved.sent[way],
            "bytes_received": moved and moved.received[way],
        }
        for way, (source, target) in enumerate(((low, high), (high, low)))
    ]
