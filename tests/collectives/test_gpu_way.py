# SPDX-License-Identifier: Apache-2.0
"""Which ranks have staging buffers for each other, and how many threads of the host move them between nodes."""

from types import SimpleNamespace

import pytest

from railgauge.collectives.gpu_way import MOST_DIRECT, Via, proxies_of, vias_of
from railgauge.transports.peer import Peer


def peer(rank: int, host: str, cores: int) -> Peer:
    return Peer(
        rank=rank, host=host, host_id=host, host_hash="", pid_hash="", pid=1, shm_device=1, cpus=[*range(cores)]
    )


@pytest.mark.parametrize(
    ("cores", "ranks_of_host", "proxies"),
    [(1, 1, 1), (4, 1, 2), (64, 1, 4), (12, 2, 3), (64, 8, 4), (8, 8, 1)],
)
def test_each_proxy_has_two_cores_and_there_are_four_at_most(cores, ranks_of_host, proxies):
    here = [peer(rank, "gpu-01", cores) for rank in range(ranks_of_host)]
    elsewhere = [peer(ranks_of_host + rank, "gpu-02", 1) for rank in range(8)]
    assert proxies_of([*here, *elsewhere], 0) == proxies


def test_of_many_ranks_those_that_are_joined_in_rings_and_trees_have_buffers():
    ranks = range(MOST_DIRECT + 1)
    parents = [-1, *((rank - 1) // 2 for rank in ranks[1:])]
    tree = SimpleNamespace(parents=parents, up=[None] * len(ranks), down=[None] * len(ranks))
    plan = SimpleNamespace(rings=[[3, 4, 5]], nets=[[None] * 3], trees=[tree])
    vias = vias_of([peer(rank, f"gpu-{rank}", 1) for rank in ranks], plan, [[True] * len(ranks)] * len(ranks))
    joined = {*enumerate(parents[1:], 1), (3, 4), (4, 5), (5, 3)}
    assert {(a, b) for a in ranks for b in ranks if vias[a][b] is Via.NET} == {
        pair for a, b in joined for pair in ((a, b), (b, a))
    }
