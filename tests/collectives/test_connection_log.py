# SPDX-License-Identifier: Apache-2.0
"""NCCL's lines on connections that were made."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.collectives.wiring import over_rings
from tests.transports.ranks import on_ranks

from railgauge.collectives.connection_log import log_connections, log_gpu_connections
from railgauge.collectives.gpu_end import GpuEnd
from railgauge.collectives.nvls import OFF
from railgauge.transports.nccl_log import NcclLog


def logged(tmp_path, transport):
    """What rank 0 of two says at INFO."""
    path = tmp_path / "log"

    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], transport)
        if bootstrap.rank == 0:
            log_connections(comm, NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(path)}))
        comm.barrier()

    on_ranks(2, body)
    return path.read_text()


def test_threads_of_sockets_and_what_was_asked_for_beyond_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("NCCL_SOCKET_NTHREADS", "17")
    text = logged(tmp_path, "NET/Socket")
    assert "NET/Socket : Using [0]lo:127.0.0.1<0>" in text
    assert "NET/Socket : NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to 16" in text
    assert "NET/Socket: Using 16 threads and 1 sockets per thread" in text


def test_shared_memory_has_no_sockets(tmp_path):
    assert "NET/Socket" not in (text := logged(tmp_path, "SHM"))
    assert "Channel 00/0 : 0[0] -> 1[1] via SHM" in text
    assert "Connected all rings" in text


def test_pairs_are_told_of_when_they_are_made(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")

    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], "NET/Socket")
        told = []
        comm.tell_pairs = lambda ends: told.extend((wire.channel, wire.source, wire.target) for wire in ends)
        before = list(told)
        for _ in range(2):
            comm.alltoall(np.zeros(2), np.zeros(2))
        return before, sorted(told)

    assert on_ranks(2, body) == [([], [(1, 0, 1), (1, 1, 0)])] * 2


@pytest.mark.parametrize(
    ("why", "lines"),
    [("", []), (OFF, []), ("rank 1: no", ["RAILGAUGE_MULTICAST=1 has no effect: rank 1: no"])],
)
def test_why_multicast_that_was_asked_for_is_not_used_is_logged(tmp_path, why, lines):
    path = tmp_path / "log"
    peers, plan = [SimpleNamespace(device=0, bus_id="0000:10:00.0")], SimpleNamespace(trees=[])
    told = {"by_cuda_ipc": "", "not_by_nvlink": [], "why_no_nvls": why}
    comm = SimpleNamespace(rank=0, size=1, peers=peers, ends=[], plan=plan, channels=2, **told)
    settings = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "NVLS", "NCCL_DEBUG_FILE": str(path)}
    log_gpu_connections(comm, NcclLog(0, settings))
    assert [line.partition("NCCL INFO ")[2] for line in path.read_text().splitlines()] == lines


def test_a_gpus_path_over_a_network_is_logged_at_both_ends_for_the_network_alone(tmp_path):
    """NCCL_DEBUG_SUBSYS=NET leaves out what does not go over it."""
    path = tmp_path / "log"
    ends = [
        GpuEnd(0, "P2P/IPC", sent=8, received=8, arriving=None),
        GpuEnd(2, "NET/IB/1", sent=8, received=8, arriving="NET/IB/0/GDRDMA"),
    ]
    peers = [SimpleNamespace(device=device, bus_id=f"0000:1{device}:00.0") for device in (0, 1, 0)]
    plan = SimpleNamespace(trees=[])
    comm = SimpleNamespace(
        rank=1,
        size=3,
        peers=peers,
        ends=ends,
        plan=plan,
        channels=2,
        by_cuda_ipc="",
        not_by_nvlink=[],
        why_no_nvls="",
    )
    settings = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG_FILE": str(path)}
    log_gpu_connections(comm, NcclLog(1, settings))
    assert [line.partition("NCCL INFO ")[2] for line in path.read_text().splitlines()] == [
        "Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/1",
        "Channel 00/0 : 2[0] -> 1[1] [receive] via NET/IB/0/GDRDMA",
    ]
