# SPDX-License-Identifier: Apache-2.0
"""What a limit on blocks does to the kernels that are started, on simulated GPUs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
EVERY_WAY = """
import sys

import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.collectives.dtype import Dtype
from railgauge.collectives.gpu_way import KernelLaunch
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

most = {"option": [6, 9], "settings": [None, None]}[sys.argv[1]]
WAYS = (Algorithm.TWO_SHOT, Protocol.SIMPLE), (Algorithm.RING, Protocol.SIMPLE), (Algorithm.TREE, Protocol.SIMPLE)


def part(bootstrap):
    comm = connected(bootstrap, max_ctas=most[bootstrap.rank])

    def reduced(count):
        OnGpu(comm).all_reduce(data := np.ones(count, np.float32))
        return set(data.tolist()) == {2.0}

    for way in WAYS:
        for blocks in (0, 100):
            comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(*way, blocks))])
            assert reduced(1 << 18)
    for protocol in (Protocol.LL, Protocol.LL128):
        algorithm = Algorithm.ONE_SHOT if protocol is Protocol.LL else Algorithm.TWO_SHOT
        comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(algorithm, protocol, 100))])
        assert reduced(1 << 10)
    comm.choose(Collective.ALL_REDUCE, [])
    assert all(reduced(count) for count in (1, 100, 1000, 1 << 12, 1 << 16))
    halves = [1 << 16] * 2
    OnGpu(comm).alltoallv(np.ones(1 << 17, np.float32), halves, np.ones(1 << 17, np.float32), halves)
    array = comm.allocate(1 << 18, Dtype.FLOAT)
    comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(Algorithm.ZERO_COPY, Protocol.SIMPLE))])
    comm.all_reduce(array)
    comm.synchronize()
    bootstrap.barrier()
    comm.close()


for told in on_ranks(2, part, 60):
    if told:
        raise told
"""


@pytest.mark.parametrize("by", ["option", "settings"])
def test_no_kernel_has_more_blocks(fake_gpus, tmp_path, by):
    """Six, which rank 0 has asked for, though rank 1 allows more, and though a launch asks for a hundred."""
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2)) | {"FAKE_CUDA_LAUNCHES": str(tmp_path / "log")}
    if by == "settings":
        env |= {"NCCL_MAX_CTAS": "6", "NCCL_MAX_NCHANNELS": "7"}
    asked = (sys.executable, "-c", EVERY_WAY, by)
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run(asked, cwd=ROOT, env=env, capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr
    launches = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    one, other = ([launch[1:3] for launch in launches if launch[0] == gpu] for gpu in "01")
    assert one == other
    assert max(int(blocks) for _, blocks in one) == 6
    found = {name.removesuffix("_sum") for name, _ in one}
    assert {"push", "ring", "tree", "full_lines", "low_latency", "registered"} <= found


BETWEEN_HOSTS = """
import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks


def part(bootstrap):
    comm = connected(bootstrap, 2)
    OnGpu(comm).all_reduce(data := np.ones(1 << 20, np.float32))
    assert set(data.tolist()) == {2.0}
    bootstrap.barrier()
    comm.close()


for told in on_ranks(2, part, 60):
    if told:
        raise told
"""


def test_the_fewest_blocks(fake_gpus, tmp_path):
    """More than the 16 that kernels have between hosts, where the GPUs have as many multiprocessors."""
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2)) | {"FAKE_CUDA_LAUNCHES": str(tmp_path / "log")}
    env |= {"NCCL_MIN_CTAS": "32", "NCCL_MIN_NCHANNELS": "4", "FAKE_CUDA_PROCESSORS": "40 40"}
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run((sys.executable, "-c", BETWEEN_HOSTS), cwd=ROOT, env=env, capture_output=True, **limits)
    assert result.returncode == 0, result.stderr.decode()
    launches = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert max(int(launch[2]) for launch in launches) == 32
