# SPDX-License-Identifier: Apache-2.0
"""One process with several GPUs, as docs/gpus.md has it: threads join, and one of them runs the operations of all."""

import subprocess
import sys
from pathlib import Path

from tests.cli.command import clean_environment

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
    result = subprocess.run(asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=50, check=False)
    assert (result.returncode, result.stdout) == (0, "[{6.0}, {6.0}, {6.0}]\n"), result.stderr
