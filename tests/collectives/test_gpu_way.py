# SPDX-License-Identifier: Apache-2.0
"""How many threads of the host move staging buffers between nodes."""

import pytest

from railgauge.collectives.gpu_way import proxies_of
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
