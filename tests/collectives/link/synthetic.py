# SPDX-License-Identifier: Apache-2.0
"""Made-up results: all pairs of some ranks over sockets, each on a host of its own, some of them slow."""

from collections.abc import Mapping
from itertools import combinations

from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.pair_result import Moved, PairResult, PairSample
from railgauge.collectives.link.tournament import Pair

JOB = LinkJob(bytes=1 << 20, latency_bytes=8, iterations=2, timeout_s=20.0)
MEASURED = 6
"""So often that what is slow each time is no chance."""


def pair(ranks: Pair, gb_per_s: tuple[float, float] = (10.0, 10.0), latency_us: float = 20.0) -> PairResult:
    return PairResult(
        ranks=ranks,
        transport="NET/Socket",
        rail=0,
        crosses=True,
        one_numa=False,
        round=0,
        sharing=1,
        crowded=False,
        samples=(PairSample(gb_per_s, 9.0, latency_us),) * MEASURED,
        predicted_gb_per_s=12.5,
        predicted_latency_us=20.0,
        via=("NET/Socket/0", "NET/Socket/0"),
        planned=("NET/Socket/0", "NET/Socket/0"),
        wrong=(0, 0),
        moved=Moved(JOB.bytes_each_way, sent=(JOB.bytes_each_way,) * 2, received=(JOB.bytes_each_way,) * 2),
    )


def result(ranks: int, odd: Mapping[Pair, PairResult]) -> LinkResult:
    """With those pairs in place of usual ones."""
    links = [odd.get(ends, pair(ends)) for ends in combinations(range(ranks), 2)]
    places = [RankPlace(rank=rank, host=f"gpu-{rank:02}", numa=0) for rank in range(ranks)]
    return LinkResult(job=JOB, ranks=places, links=links)
