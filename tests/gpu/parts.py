# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.parts split --ranks 4`: communicators of some GPUs, a thread for each rank."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from tests.gpu.cases import run_case
from tests.gpu.on_gpu import GpuArray, OnGpu, connected

from railgauge._native import collectives as native
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.topo.errors import AbortedError, UsageError
from railgauge.transports.bootstrap import Bootstrap


def told(comm: GpuCommunicator, number: int) -> list[int]:
    """What every rank of it says, by a collective and by messages, which agree."""
    gathered = np.zeros(comm.size, np.int64)
    OnGpu(comm).all_gather(np.array([number], np.int64), gathered)
    memory = [native.GpuMemory(comm.device, 8) for _ in range(1 + comm.size)]
    memory[0].write(np.array([number], np.int64))
    own, *arrays = (GpuArray(one.pointer, gathered[:1]) for one in memory)
    with comm.group():
        for peer, array in enumerate(arrays):
            comm.send(own, peer)
            comm.recv(array, peer)
    comm.synchronize()
    sent = [np.zeros(1, np.int64) for _ in arrays]
    for one, array in zip(memory[1:], sent, strict=True):
        one.read(array)
    assert [int(one[0]) for one in sent] == gathered.tolist()
    return gathered.tolist()


def split(comm: GpuCommunicator) -> None:
    """By color and key, in parts of parts, in the background, beside the whole."""
    keys = [3, 1, 0, 2, *range(4, comm.size)][: comm.size]
    part = comm.split(comm.rank // 2 if comm.rank < 4 else None, -comm.rank)
    assert (part is None) == (comm.rank >= 4)
    work = comm.split(0, keys[comm.rank], async_op=True)
    if part:
        ranks = [1, 0] if comm.rank < 2 else [3, 2]
        assert (part.rank, part.size) == (ranks.index(comm.rank), 2)
        assert told(part, comm.rank) == ranks
        alone = part.split(part.rank)
        assert told(alone, 7) == [7]
        assert told(part.subset([0, 1]), comm.rank) == ranks
    shuffled = work.wait()
    assert told(shuffled, comm.rank) == sorted(range(comm.size), key=keys.__getitem__)
    assert told(comm, comm.rank) == list(range(comm.size))
    last = comm.size - 1
    if comm.rank in (0, last):
        pair = comm.subset([last, 0])
        assert told(pair, comm.rank) == [last, 0]
        with pytest.raises(UsageError, match="ranks are 0 to 1"):
            pair.send(GpuArray(0, np.zeros(1)), 2)
    for wrong in ((1.5, 0), (0, None)):
        with pytest.raises(UsageError, match="whole numbers"):
            comm.split(*wrong)


def abort(comm: GpuCommunicator) -> None:
    """Of a part, by another thread, while its kernel waits: that rank alone ends, and the whole goes on."""
    part = comm.split(0)
    if comm.rank == 0:
        threading.Timer(0.2, part.abort).start()
        memory = native.GpuMemory(comm.device, 8)
        part.recv(GpuArray(memory.pointer, np.zeros(1)), 1)
        for _ in range(2):
            with pytest.raises(AbortedError, match="rank 0: this communicator was aborted"):
                part.synchronize()
        with pytest.raises(AbortedError):
            part.all_reduce(GpuArray(memory.pointer, np.zeros(1)))
    assert told(comm, comm.rank) == list(range(comm.size))


def blocks(comm: GpuCommunicator) -> None:
    """A part has the least limit of its ranks', and less memory; each rank a process's worth of it (test_parts.py)."""
    part = comm.subset([1, 0], max_ctas=1 if comm.rank else None)
    for one in (comm, part):
        OnGpu(one).all_reduce(data := np.ones(1 << 15, np.float32))
        assert set(data.tolist()) == {2.0}
        assert one._blocks.most == (1 if one is part else 2)
    with pytest.raises(UsageError, match="max_ctas is 0"):
        comm.split(0, max_ctas=0)


def seconds(comm: GpuCommunicator) -> None:
    """How long it takes to make one of all ranks, for a reader: simulated GPUs allocate unlike real ones."""
    took = []
    for _ in range(20):
        comm.barrier()
        began = time.perf_counter()
        comm.split(0)
        took.append(time.perf_counter() - began)
    if comm.rank == 0:
        print(f"split: {1e3 * min(took):.2f} ms at best, {1e3 * sorted(took)[10]:.2f} in the middle")


CASES: dict[str, Callable[[GpuCommunicator], None]] = {one.__name__: one for one in (split, abort, blocks, seconds)}


def body(bootstrap: Bootstrap, case: str, hosts: int) -> None:
    comm = connected(bootstrap, hosts, max_ctas=2, cores=64)  # for more proxies than a kernel has blocks
    CASES[case](comm)
    bootstrap.barrier()
    comm.close()


if __name__ == "__main__":
    run_case(CASES, body, ranks=4)
