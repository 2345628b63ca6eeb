# SPDX-License-Identifier: Apache-2.0
"""The result of measuring links (schema railgauge/link/1), as it grows."""

from dataclasses import dataclass, field

from railgauge.collectives.device import Device
from railgauge.collectives.link.bisection import Bisection
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.pair_result import PairResult


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
