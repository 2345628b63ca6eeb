# SPDX-License-Identifier: Apache-2.0
"""Memory of cuMemCreate that ranks register, each in a process of its own, or in threads of one.

    python -m tests.gpu.registering spans refused unimported --ranks 3
    python -m tests.gpu.registering spans refused pytorch --one-gpu  # two processes that take turns on one GPU

Prints as JSON, by case, what each rank says.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import signal
import socket
import struct
import tempfile
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from tests.gpu.driver_memory import DESCRIPTOR, NO_WAY, DriverMemory, MappedRange, PoolMemory
from tests.gpu.fake_gpus import topology
from tests.gpu.on_gpu import GpuArray, connected
from tests.patience import FAR_S
from tests.transports.ranks import meet_on, on_ranks

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.gpu_way import KernelLaunch
from railgauge.topo.errors import Error, RunError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.store.file_store import FileStore

AT = 256
"""Where arrays start, before the end of the first piece."""
ADDRESS, KEY = slice(216, 232), slice(232, 248)
"""Of a rank's socket, in Lent (collectives/native/gpu/peer_memory.h)."""
NOBODY = 65534
NEW_NETWORK, NEW_PIDS = 0x40000000, 0x20000000
"""Namespaces (unshare(2)), which take root's rights."""
OPERATIONS = 10


def held() -> tuple[int, int]:
    """How many descriptors this process has open, and how many mappings of memory of simulated GPUs."""
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return len(os.listdir("/proc/self/fd")), sum("fake-cuda" in line for line in mapped)


def left(before: tuple[int, int]) -> list[int]:
    """What this process holds more than before."""
    return [now - then for now, then in zip(held(), before, strict=True)]


def sum_and_parts(comm: GpuCommunicator, memory: DriverMemory) -> list[bool]:
    """Whether an all_reduce and an all_gather over all pieces of registered memory are right."""
    at = memory.piece_bytes - AT
    count = (memory.bytes - memory.piece_bytes) // 4 // comm.size * comm.size
    part = count // comm.size
    array = GpuArray(memory.pointer + at, np.empty(count, np.float32))
    own = GpuArray(memory.pointer + at + 4 * part * comm.rank, np.empty(part, np.float32))
    results = []
    for run, wanted in (
        (lambda: comm.all_reduce(array, array), sum(range(1, comm.size + 1)) * np.ones(count)),
        (lambda: comm.all_gather(own, array), np.repeat(range(1, comm.size + 1), part)),
    ):
        memory.write(np.full(count, comm.rank + 1, np.float32), at)
        run()
        comm.synchronize()
        read = np.empty(count, np.float32)
        memory.read(read, at)
        comm.barrier()  # all have read before the next one writes
        results.append(bool((read == wanted).all()))
    return results


@contextmanager
def registered(comm: GpuCommunicator, memory: DriverMemory):
    """All of it but the beginning and the end."""
    at = memory.piece_bytes - AT
    with comm.register(GpuArray(memory.pointer + at, np.empty(memory.bytes - memory.piece_bytes, np.uint8))):
        yield


def tried(comm: GpuCommunicator, memory: DriverMemory) -> dict[str, Any]:
    """What using it gives: the error's text where it is refused; `left` is what this process holds more than before."""
    before = held()
    said: dict[str, Any] = {}
    try:
        with registered(comm, memory):
            said["right"] = sum_and_parts(comm, memory)
            said["reached_by"] = [one for one in range(native.gpu_count()) if memory.can_be_reached_by(one)]
    except Error as error:
        said["error"] = f"{type(error).__name__}: {error}"
    said["left"] = left(before)
    return said


def spans(comm: GpuCommunicator) -> Any:
    """Three pieces, registered twice."""
    memory = MappedRange(comm.device, handle_types=comm._handle_types or DESCRIPTOR)
    said = [tried(comm, memory) for _ in range(2)]
    memory.close()
    return said


def via(comm: GpuCommunicator) -> Any:
    return [end.via for end in comm.ends]


def symmetric(comm: GpuCommunicator) -> Any:
    """Memory that the communicator allocates."""
    before = held()
    with comm.allocate(comm.size * 1000, Dtype.FLOAT) as array:
        part = GpuArray(array.memory.pointer + 4000 * comm.rank, np.empty(1000, np.float32))
        array.memory.write(np.full(comm.size * 1000, comm.rank, np.float32))
        comm.all_gather(part, array)
        comm.synchronize()
        read = np.empty(comm.size * 1000, np.float32)
        array.memory.read(read)
    del array
    right = bool((read == np.repeat(range(comm.size), 1000)).all())
    return {"right": right, "left": left(before)}


def pool(comm: GpuCommunicator) -> Any:
    """Two allocations of one pool, both registered twice."""
    first = PoolMemory(comm.device)
    second = PoolMemory(comm.device, pool=first.pool)
    before = held()
    with registered(comm, first), registered(comm, first), registered(comm, second):
        right = sum_and_parts(comm, first)
    said = {"first": right, "second": tried(comm, second)}
    more = left(before)
    second.close()
    first.close()
    return said | {"left": more}


def pool_refused(comm: GpuCommunicator) -> Any:
    """Rank 1 alone has a pool that cannot be exported."""
    memory = PoolMemory(comm.device, handle_types=NO_WAY if comm.rank == 1 else DESCRIPTOR)
    said = tried(comm, memory)
    memory.close()
    return said


def hasty(comm: GpuCommunicator) -> Any:
    """It is closed while operations on it are still to run."""
    memory = MappedRange(comm.device)
    count, own = 4096, comm.rank + 1
    at = memory.piece_bytes - AT
    array = GpuArray(memory.pointer + at, np.empty(count, np.float32))
    memory.write(np.full(count, own, np.float32), at)
    with registered(comm, memory):
        for _ in range(OPERATIONS):
            comm.all_reduce(array, array)
    read = np.empty(count, np.float32)
    memory.read(read, at)
    memory.close()
    return set(read.tolist()) == {float(sum(range(1, comm.size + 1)) * comm.size ** (OPERATIONS - 1))}


def refused(comm: GpuCommunicator) -> Any:
    """Rank 1 alone has memory that cannot be exported."""
    memory = MappedRange(comm.device, handle_types=NO_WAY if comm.rank == 1 else DESCRIPTOR)
    said = tried(comm, memory)
    memory.close()
    return said


def failing(fault: str) -> Callable[[GpuCommunicator], Any]:
    """The driver refuses something on GPU 1; the same memory can be registered when it no longer does."""

    def case(comm: GpuCommunicator) -> Any:
        memory = MappedRange(comm.device, handle_types=comm._handle_types or DESCRIPTOR)
        os.environ["FAKE_CUDA_FAULTS"] = fault
        said = tried(comm, memory)
        os.environ["FAKE_CUDA_FAULTS"] = ""
        after = tried(comm, memory)
        memory.close()
        return said | {"after": after}

    return case


class Changed:
    """An engine that does something else before it opens memory."""

    def __init__(self, engine: Any, before: Callable[[Sequence[bytes]], None]) -> None:
        self._engine, self._before = engine, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def open_memory(self, pointer: int, size: int, symmetric: bool, lent: Sequence[bytes]) -> int:
        self._before(lent)
        return self._engine.open_memory(pointer, size, symmetric, lent)


def lost(comm: GpuCommunicator) -> Any:
    """Rank 1 dies when it has said what it lends."""
    if comm.rank == 1:
        comm._engine = Changed(comm._engine, lambda _: os.kill(os.getpid(), signal.SIGKILL))  # type: ignore[assignment]
    return tried(comm, MappedRange(comm.device))


def late(comm: GpuCommunicator) -> Any:
    """Rank 1 does not go on when it has said what it lends."""

    def wait(_: Sequence[bytes]) -> None:
        raise comm._job.wait_for_failure(RunError("nothing"), limit_s=FAR_S)

    if comm.rank == 1:
        comm._engine = Changed(comm._engine, wait)  # type: ignore[assignment]
    return tried(comm, MappedRange(comm.device))


def intruded(comm: GpuCommunicator) -> Any:
    """Other programs send to all ranks that wait for descriptors: one without the key, one of another user with it."""

    def intrude(lent: Sequence[bytes]) -> None:
        comm.barrier()
        for rank, one in enumerate(lent):
            if rank != comm.rank:
                name, key = one[ADDRESS], one[KEY]
                send(name, bytes(16), comm.rank)
                if os.geteuid() == 0 and not (child := os.fork()):
                    os.setuid(NOBODY)
                    send(name, key, comm.rank)
                    os._exit(0)
                elif os.geteuid() == 0:
                    os.waitpid(child, 0)
        comm.barrier()

    engine = comm._engine
    comm._engine = Changed(engine, intrude)  # type: ignore[assignment]
    memory = MappedRange(comm.device)
    said = tried(comm, memory)
    memory.close()
    comm._engine = engine
    return said


def unreachable(comm: GpuCommunicator) -> Any:
    """Rank 1 is in another network namespace."""
    if comm.rank == 1 and ctypes.CDLL(None).unshare(NEW_NETWORK):  # it may not
        os.environ["FAKE_CUDA_FAULTS"] = "cuMemGetAddressRange_v2=1"
    memory = MappedRange(comm.device)
    said = tried(comm, memory)
    memory.close()
    return said


def send(name: bytes, key: bytes, rank: int) -> None:
    """A datagram as a rank's, without the descriptor of its first piece (transports/native/fd_socket.cc)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(key + struct.pack("=IIQ", rank, 0, 1 << 16), b"\0railgauge-" + name.hex().encode())


def pytorch(comm: GpuCommunicator) -> Any:
    """Tensors of PyTorch's expandable segments: a long one and a short one."""
    import torch

    said = {"conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")}
    for count in (1000, 64 << 20):
        tensor = torch.full((count,), comm.rank + 1.0, device=f"cuda:{comm.device}")
        torch.cuda.synchronize()
        try:
            with comm.register(tensor):
                comm.all_reduce(tensor, tensor)
                comm.synchronize(torch.cuda.current_stream().cuda_stream)
            said[str(count)] = str(tensor.unique().tolist())
        except Error as error:
            said[str(count)] = f"{type(error).__name__}: {error}"
    return said


CASES: dict[str, Callable[[GpuCommunicator], Any]] = {
    "spans": spans,
    "via": via,
    "symmetric": symmetric,
    "hasty": hasty,
    "pool": pool,
    "pool_refused": pool_refused,
    "refused": refused,
    "unimported": failing("cuMemImportFromShareableHandle@1=999"),
    "unexported": failing("cuMemExportToShareableHandle@1=999"),
    "unmapped": failing("cuMemMap@1=2"),
    "intruded": intruded,
    "unreachable": unreachable,
    "lost": lost,
    "late": late,
    "pytorch": pytorch,
}


def rank_main(rank: int, asked: argparse.Namespace, path: str, results: Any) -> None:
    """One rank's process; with --containers it is the first one of its pid namespace."""
    if asked.containers:
        if ctypes.CDLL(None).unshare(NEW_PIDS):
            return
        if child := os.fork():
            os.waitpid(child, 0)
            return
    said: dict[str, Any] = {}
    try:
        store = FileStore(path, asked.ranks, timedelta(seconds=FAR_S))
        rendezvous = meet_on(store, rank, asked.ranks, timeout_s=asked.timeout)
        run(rendezvous.join(rank), asked, said)
    except BaseException as error:
        said["error"] = repr(error)
    results.put((rank, said))
    results.close()
    results.join_thread()
    if asked.containers:
        os._exit(0)


def on_processes(asked: argparse.Namespace, path: str) -> dict[int, Any]:
    """What all ranks say, each in a process."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    ranks = [context.Process(target=rank_main, args=(rank, asked, path, results)) for rank in range(asked.ranks)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(FAR_S)
    told: dict[int, Any] = {}
    while not results.empty():
        told.update([results.get()])
    return told


def run(bootstrap: Bootstrap, asked: argparse.Namespace, said: dict[str, Any]) -> dict[str, Any]:
    """Its part in all cases."""
    comm = connected(bootstrap, asked.hosts, shared=asked.one_gpu)
    for collective in (Collective.ALL_REDUCE, Collective.ALL_GATHER):
        comm.choose(collective, [(1 << 60, KernelLaunch(Algorithm.ZERO_COPY, Protocol.SIMPLE))])
    for case in asked.cases:
        said[case] = CASES[case](comm)
    if not {"lost", "late"} & set(asked.cases):
        comm.close()
    return said


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="+", choices=CASES)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=FAR_S)
    parser.add_argument("--one-gpu", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--containers", action="store_true")
    asked = parser.parse_args()
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    with tempfile.TemporaryDirectory() as folder:
        if asked.one_gpu:
            os.environ["NCCL_TOPO_FILE"] = str(file := Path(folder, "topo.xml"))
            file.write_text(topology(asked.ranks))
        if asked.threads:
            told = dict(enumerate(on_ranks(asked.ranks, lambda bootstrap: run(bootstrap, asked, {}), asked.timeout)))
        else:
            told = on_processes(asked, str(Path(folder, "store")))
    print(json.dumps({str(rank): said for rank, said in sorted(told.items())}, default=repr))


if __name__ == "__main__":
    main()
