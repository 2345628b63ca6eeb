# SPDX-License-Identifier: Apache-2.0
"""A GpuCommunicator in a test, and its calls on arrays of the host, as the oracle makes them
(tests/collectives/oracle.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.gpu.fake_gpus import bus_ids

from railgauge._native import collectives as native
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.gpu_way import KernelLaunch, Via
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

COPIED = (Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.SEND_RECV, Collective.BROADCAST)
"""What the copy engine can run between two ranks."""


def connected(
    bootstrap: Bootstrap,
    hosts: int = 1,
    *,
    shared: bool = False,
    cores: int | None = None,
    domains: Sequence[str] = (),
    **others: Any,
) -> GpuCommunicator:
    """One rank's end; the ranks are dealt out to so many hosts, which share no memory.

    `shared`: processes take turns on GPU 0, under bus ids that are invented. `cores`: as if each rank had so many.
    `domains`: by rank its NVLink domain, in place of NVML's answer.
    """
    rank = bootstrap.rank
    log = NcclLog(rank)
    bus_id, name = (bus_ids(bootstrap.world_size)[rank], "shared") if shared else native.gpu_facts(rank)
    device = 0 if shared else rank
    if shared:
        native.gpus_reach = lambda _one, _other: True
    everybody = exchange(bootstrap, this_peer(rank, bus_id=bus_id, device=device, gpu=name))
    everybody = everybody if cores is None else [replace(peer, cpus=tuple(range(cores))) for peer in everybody]
    peers = [replace(peer, host_id=f"host-{peer.rank * hosts // len(everybody)}") for peer in everybody]
    plan = make_plan(bootstrap, peers, None, log)
    plan = replace(plan, domains=list(domains)) if domains else plan
    return connect_gpus(bootstrap, peers, plan, SOCKETS, device, log, **others)


class RegisteredMemory:
    """Two arrays of a rank that are registered, for whatever is the first and the second of an operation."""

    def __init__(self, comm: GpuCommunicator, size: int, *, symmetric: bool, nvls: bool = False) -> None:
        """Operations run on them, whatever their size. Without `symmetric`, ranks have them in different windows."""
        if symmetric:
            self.arrays = [comm.registered_memory(size, symmetric=True) for _ in range(2)]
        else:
            handle_types = comm._handle_types * (Via.MNNVL in comm.vias)
            self.arrays = [native.GpuMemory(comm.device, size, handle_types) for _ in range(2)]
            for array in self.arrays if comm.rank % 2 == 0 else reversed(self.arrays):
                comm._open(array.pointer, size)
        for collective in NUMBERS:
            algorithm = Algorithm.COPY_ENGINE if symmetric and collective in COPIED else Algorithm.ZERO_COPY
            algorithm = Algorithm.NVLS if nvls else algorithm
            if collective is not Collective.BROADCAST or comm.size == 2:
                comm.choose(collective, [(1 << 60, KernelLaunch(algorithm, Protocol.SIMPLE))])


class OnGpu:
    """Each call copies its arrays to the GPU and back, with all of the memory that they are a part of."""

    def __init__(self, comm: GpuCommunicator, registered: RegisteredMemory | None = None) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm = comm
        self._registered = registered

    def __getattr__(self, collective: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            mirrors: dict[int, Mirror] = {}
            for place, one in enumerate(arguments):
                if isinstance(one, np.ndarray) and id(whole(one)) not in mirrors:
                    mirrors[id(whole(one))] = Mirror(whole(one), self._memory(place, whole(one).nbytes))
            mapped = [mirrors[id(whole(one))].part(one) if isinstance(one, np.ndarray) else one for one in arguments]
            getattr(self._comm, collective)(*mapped)
            self._comm.synchronize()
            for mirror in mirrors.values():
                mirror.read_back()

        return call

    def _memory(self, place: int, size: int) -> native.GpuMemory:
        if self._registered:
            return self._registered.arrays[place]
        return native.GpuMemory(self._comm.device, max(size, 1))


class Mirror:
    """An array of the host, and the same in the memory of a GPU."""

    def __init__(self, array: np.ndarray, memory: native.GpuMemory) -> None:
        self._bytes = array.view(np.uint8)
        self._memory = memory
        self._memory.write(self._bytes)

    def part(self, array: np.ndarray) -> "GpuArray":
        at = array.ctypes.data - self._bytes.ctypes.data
        return GpuArray(self._memory.pointer + at, array)

    def read_back(self) -> None:
        self._memory.read(self._bytes)


class GpuArray:
    """What PyTorch, CuPy and others have: it says where on a GPU its data lies."""

    def __init__(self, pointer: int, like: np.ndarray) -> None:
        self.dtype = like.dtype
        self.__cuda_array_interface__ = {
            "data": (pointer, False),
            "shape": like.shape,
            "typestr": like.dtype.str,
            "version": 3,
        }


def whole(array: np.ndarray) -> np.ndarray:
    """The array that this one is a part of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
