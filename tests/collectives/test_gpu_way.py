# SPDX-License-Identifier: Apache-2.0
"""Which ranks have staging buffers for each other, and how many threads of the host move them between nodes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from railgauge.collectives.gpu_blocks import BlockLimits
from railgauge.collectives.gpu_way import MOST_DIRECT, Layout, Via, proxies_of, vias_of
from railgauge.transports.peer import Peer


def peer(rank: int, host: str, cores: int) -> Peer:
    return Peer(
        rank=rank,
        host=host,
        host_id=host,
        host_hash="",
        pid_hash="",
        pid=1,
        pid_namespace="",
        shm_device=1,
        cpus=[*range(cores)],
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
    vias = vias_of([peer(rank, f"gpu-{rank}", 1) for rank in ranks], plan, [[False] * len(ranks)] * len(ranks))
    joined = {*enumerate(parents[1:], 1), (3, 4), (4, 5), (5, 3)}
    assert {(a, b) for a in ranks for b in ranks if vias[a][b] is Via.NET} == {
        pair for a, b in joined for pair in ((a, b), (b, a))
    }


@pytest.mark.parametrize(
    ("setting", "via"), [({}, Via.IPC), ({"NCCL_P2P_DISABLE": "1"}, Via.SHM), ({"NCCL_P2P_DISABLE": "0"}, Via.IPC)]
)
def test_who_disables_peer_access_on_one_rank_goes_through_the_host_on_both(setting, via):
    ranks = [replace(peer(rank, "gpu-01", 4), pid_hash=f"0x{rank}") for rank in range(2)]
    ranks[1] = replace(ranks[1], settings=setting)
    plan = SimpleNamespace(p2p=[[True] * 2] * 2)
    assert vias_of(ranks, plan, [[True] * 2] * 2) == [[Via.NONE, via], [via, Via.NONE]]


@pytest.mark.parametrize(
    ("reach", "via"),
    [([[True] * 2] * 2, Via.MNNVL), ([[True, False], [True, True]], Via.NET), ([[False] * 2] * 2, Via.NET)],
)
def test_ranks_of_two_hosts_use_nvlink_if_each_maps_the_others_memory(reach, via):
    ranks = [peer(rank, f"gpu-0{rank}", 4) for rank in range(2)]
    assert vias_of(ranks, SimpleNamespace(), reach) == [[Via.NONE, via], [via, Via.NONE]]


@pytest.mark.parametrize(
    ("vias", "nvlink", "blocks", "slot_bytes", "line_blocks", "full_lines"),
    [
        ([Via.DIRECT, Via.NET], True, 16, 128 << 10, 1, 0),
        ([Via.IPC, Via.SHM], False, 64, 32 << 10, 64, 0),
        ([Via.IPC], False, 128, 64 << 10, 128, 0),
        ([Via.MNNVL], True, 128, 64 << 10, 128, 40 << 10),
        ([Via.IPC, Via.IPC], True, 128, 40 << 10, 128, (80 << 10) // 3),
        ([Via.IPC] * 7, True, 128, 16 << 10, 128, (80 << 10) // 8),
    ],
)
def test_buffers_are_as_large_as_the_slowest_path_needs(vias, nvlink, blocks, slot_bytes, line_blocks, full_lines):
    rows = [[Via.NONE, *vias]] * (len(vias) + 1)
    assert Layout.of(rows, nvlink=nvlink).numbers == (blocks, slot_bytes, line_blocks, full_lines)
    assert Layout.of(rows, nvlink=nvlink, limits=BlockLimits(most=4)).numbers == (
        4,
        slot_bytes,
        min(4, line_blocks),
        full_lines * 4 // blocks,
    )
