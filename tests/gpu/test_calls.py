# SPDX-License-Identifier: Apache-2.0
"""Calls on tensors that C alone reads, and kernels that are there from the start, on simulated GPUs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
PRELUDE = """
import os
import time
from types import SimpleNamespace

import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.gpu.streams import Gpu
from tests.gpu.tensors import Tensor
from tests.transports.ranks import on_ranks

from railgauge._native import collectives as native
from railgauge.collectives.collectives import ALL_REDUCE
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.errors import UsageError


def run(part):
    for told in on_ranks(2, part, 60):
        if isinstance(told, BaseException):
            raise told


def filled(comm, values):
    memory = native.GpuMemory(comm.device, values.nbytes)
    memory.write(values)
    return memory


def read(comm, memory, count):
    comm.synchronize()
    memory.read(found := np.zeros(count, np.float32))
    return found.tolist()
"""
TENSORS = """
def part(bootstrap):
    comm = connected(bootstrap)
    rank, device = comm.rank, comm.device
    memory = filled(comm, np.arange(12, dtype=np.float32) + 100 * rank)
    whole = Tensor(memory, Dtype.FLOAT, 3, 4, device=device)
    first, second = (Tensor(memory, Dtype.FLOAT, 6, at=at, device=device) for at in (0, 6))
    before = Tensor.read
    assert comm.all_reduce(whole) is whole
    assert read(comm, memory, 12) == [2.0 * i + 100 for i in range(12)]
    comm.all_gather((first, second)[rank], whole)  # in place
    other = native.GpuMemory(device, 48)
    comm.reduce_scatter(whole, part := Tensor(other, Dtype.FLOAT, 6, device=device), op=Redop.MAX)
    assert read(comm, other, 6) == [2.0 * i + 100 for i in range(6 * rank, 6 * rank + 6)]
    comm.broadcast(part, root=1)
    assert read(comm, other, 6) == [2.0 * i + 100 for i in range(6, 12)]
    comm.sendrecv(first, part)
    comm.alltoall(first, part)
    comm.reduce(part, part, root=0)
    with comm.group():
        comm.send(first, 1 - rank)
        comm.recv(part, 1 - rank)
    comm.all_reduce(part, async_op=True).wait()
    comm.alltoallv(first, [3, 3], part, [3, 3])
    assert Tensor.read > before
    wrong = {
        "another size": lambda: comm.all_reduce(first, Tensor(other, Dtype.FLOAT, 5, device=device)),
        "another type": lambda: comm.all_reduce(first, Tensor(other, Dtype.INT32, 6, device=device)),
        "not contiguous": lambda: comm.all_reduce(Tensor(memory, Dtype.FLOAT, 6, stride=2, device=device)),
        "another device": lambda: comm.all_reduce(Tensor(memory, Dtype.FLOAT, 6, device=1 - device)),
        "overlapping": lambda: comm.all_reduce(first, Tensor(memory, Dtype.FLOAT, 6, at=1, device=device)),
        "no root": lambda: comm.broadcast(part, root=2),
        "in place": lambda: comm.alltoall(whole, whole),
        "no operator": lambda: comm.all_reduce(whole, op="sum"),
    }
    for what, call in wrong.items():
        try:
            call()
        except UsageError:
            continue
        raise AssertionError(what)
    bootstrap.barrier()
    assert comm.all_reduce(first) is first
    comm.synchronize()
    bootstrap.barrier()
    comm.close()


run(part)
"""
ASIDE = """
def part(bootstrap):
    first, comm = connected(bootstrap), connected(bootstrap)
    gpu = Gpu(comm.device)
    works_on, aside = gpu.stream(), gpu.stream()
    Tensor.streams[comm.device] = works_on
    memory = filled(comm, np.full(1000, comm.rank + 1, np.float32))
    data = Tensor(memory, Dtype.FLOAT, 1000, device=comm.device)
    if comm.rank:
        time.sleep(0.2)  # in which the other has put both
    first.all_reduce(data)
    asked = ALL_REDUCE, data, data, Redop.SUM, 0
    mark = comm.put_aside(*asked, aside)
    assert comm.rank or not mark.query()
    mark.wait(SimpleNamespace(cuda_stream=works_on))
    gathered = native.GpuMemory(comm.device, 8000)
    comm.all_gather(data, whole := Tensor(gathered, Dtype.FLOAT, 2000, device=comm.device))
    comm.synchronize(works_on)
    assert mark.query()
    memory.read(found := np.zeros(1000, np.float32))
    assert set(found) == {6.0}
    assert comm.put_aside(ALL_REDUCE, data, whole, Redop.SUM, 0, aside) is None
    comm.abort()
    assert comm.put_aside(*asked, aside) is None
    bootstrap.barrier()
    first.close(), comm.close()


run(part)
"""
LOADED = """
def part(bootstrap):
    comm = connected(bootstrap)
    bootstrap.barrier()
    if comm.rank == 0:
        os.environ["FAKE_CUDA_FAULTS"] = "cuModuleLoadData=700 cuModuleGetFunction=700"
    bootstrap.barrier()
    for dtype in ("float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64"):
        for op in Redop:
            OnGpu(comm).all_reduce(data := np.ones(100, dtype), data, op)
            assert set(data.tolist()) == {2 if op is Redop.SUM else 1}
    bootstrap.barrier()
    comm.close()


run(part)
"""


def output_of(program, env):
    asked = (sys.executable, "-c", PRELUDE + program)
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **env)
    limits = {"timeout": HANGS_AFTER_S, "check": False}
    result = subprocess.run(asked, cwd=ROOT, env=env, capture_output=True, text=True, **limits)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("program", [TENSORS, ASIDE, LOADED], ids=["tensors", "aside", "loaded"])
def test_on_two_gpus(fake_gpus, program):
    """Tensors: read in C, else refused as any array is. Aside: after what was put on their stream, and before what
    waits for the mark. Loaded: the driver loads nothing once a communicator is made, of whatever type and operator its
    operations are.
    """
    output_of(program, fake_gpus(2))
