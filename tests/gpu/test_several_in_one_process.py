# SPDX-License-Identifier: Apache-2.0
"""One process with several GPUs, as in docs/guide/gpus.md: threads join, one of them runs the operations of all."""

import subprocess
import sys
from pathlib import Path

from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
PROGRAM = """
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import railgauge
from railgauge.collectives.dtype import Dtype
from railgauge.transports.store.hash_store import HashStore

store = HashStore()


def join(i):
    return railgauge.init_process_group(store=store, rank=i, world_size=3, device=i, bind=False)


def value(job, array):
    host = np.empty(5, np.float32)
    job.communicator.synchronize()
    array.memory.read(host)
    return set(host.tolist())


with ThreadPoolExecutor(3) as pool:
    jobs = list(pool.map(join, range(3)))
    arrays = list(pool.map(lambda job: job.communicator.allocate(5, Dtype.FLOAT), jobs))
    for job, array in zip(jobs, arrays, strict=True):
        array.memory.write(np.full(5, job.rank + 1, np.float32))
    for job, array in zip(jobs, arrays, strict=True):
        job.communicator.all_reduce(array)
    print([value(job, array) for job, array in zip(jobs, arrays, strict=True)])
    list(pool.map(lambda array: array.close(), arrays))
    list(pool.map(lambda job: job.close(), jobs))
"""


def test_one_thread_runs_operations_on_all_gpus(fake_gpus):
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(3))
    asked = (sys.executable, "-c", PROGRAM)
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert (result.returncode, result.stdout) == (0, "[{6.0}, {6.0}, {6.0}]\n"), result.stderr


UNLIKE = """
import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.collectives.dtype import Dtype
from railgauge.collectives.gpu_way import KernelLaunch
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

COUNT = 1 << 22
WAYS = {Algorithm.TWO_SHOT: Protocol.SIMPLE, Algorithm.RING: Protocol.SIMPLE, Algorithm.TREE: Protocol.SIMPLE}


def part(bootstrap):
    comm = connected(bootstrap)
    for algorithm, protocol in WAYS.items():
        comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(algorithm, protocol))])
        OnGpu(comm).all_reduce(np.ones(COUNT, np.float32))
    comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(Algorithm.TWO_SHOT, Protocol.LL128))])
    OnGpu(comm).all_reduce(np.ones(1 << 12, np.float32))
    OnGpu(comm).alltoallv(np.ones(COUNT, np.float32), [COUNT // 2] * 2, np.ones(COUNT, np.float32), [COUNT // 2] * 2)
    array = comm.allocate(COUNT, Dtype.FLOAT)
    comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(Algorithm.ZERO_COPY, Protocol.SIMPLE))])
    comm.all_reduce(array)
    comm.synchronize()
    bootstrap.barrier()
    comm.close()


for told in on_ranks(2, part, 30):
    if told:
        raise told
"""


def test_unlike_gpus_start_as_many_blocks(fake_gpus, tmp_path):
    """Block talks to block, so that a GPU of more processors may not start more than one of fewer."""
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2))
    env |= {"FAKE_CUDA_PROCESSORS": "132 5", "FAKE_CUDA_LAUNCHES": str(tmp_path / "launches")}
    asked = (sys.executable, "-c", UNLIKE)
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stderr
    launches = [line.split() for line in (tmp_path / "launches").read_text().splitlines()]
    one, other = ([launch[1:3] for launch in launches if launch[0] == gpu] for gpu in "01")
    assert one == other
    assert {name.removesuffix("_sum") for name, _ in one} == {"push", "ring", "tree", "full_lines", "registered"}
    assert max(int(blocks) for _, blocks in one) == 5
