# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory with a multicast address, as tests/gpu/registering.py runs its cases: with simulated GPUs only.

RAILGAUGE_MULTICAST=1 python -m tests.gpu.nvls summed due --ranks 4
"""

import gc
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.gpu.driver_memory import DESCRIPTOR
from tests.gpu.registering import CASES, held, main

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.gpu_way import WAYS, KernelLaunch
from railgauge.collectives.operation import NUMBERS
from railgauge.topo.errors import Error
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

COUNT = 8 * 1009
NVLS = KernelLaunch(Algorithm.NVLS, Protocol.SIMPLE)
LONG = 32 << 20
"""Bytes, that do not fit in lines."""


def held_by_all(comm: GpuCommunicator) -> np.ndarray:
    """What this process holds while no other rank does anything, not even look."""
    found = held()
    for rank in range(comm.size):
        comm.barrier()
        found = held() if rank == comm.rank else found
    comm.barrier()
    return np.array(found)


def summed(comm: GpuCommunicator) -> Any:
    """Of memory from `allocate`, which is closed while the operations are still to run."""
    before = held_by_all(comm)
    with comm.allocate(COUNT, Dtype.FLOAT) as array:
        array.memory.write(np.full(COUNT, comm.rank + 1, np.float32))
        for _ in range(3):
            comm._engine.run(*number_of(array, array), *NVLS.numbers)
    read = np.empty(COUNT, np.float32)
    array.memory.read(read)
    del array
    right = set(read.tolist()) == {float(sum(range(1, comm.size + 1)) * comm.size**2)}
    return {"right": right, "left": (held_by_all(comm) - before).tolist()}


def number_of(source: Any, destination: Any) -> tuple[int, ...]:
    """An all_reduce of all floats on the default stream, as the engine takes it."""
    pointers = source.memory.pointer, destination.memory.pointer
    return NUMBERS[Collective.ALL_REDUCE], *pointers, COUNT, int(Dtype.FLOAT), int(Redop.SUM), 0, 0


def refused(fault: str) -> Callable[[GpuCommunicator], Any]:
    """The driver refuses something: no rank has a registration or memory then, also before garbage is collected, and
    all do when it no longer refuses.
    """

    def register(comm: GpuCommunicator) -> None:
        memory = native.GpuMemory(comm.device, 4 * COUNT, DESCRIPTOR)
        comm.barrier()  # ranks may be threads, whose faults are the same
        os.environ["FAKE_CUDA_FAULTS"] = fault
        try:
            comm._open(memory.pointer, 4 * COUNT, symmetric=True)
        finally:
            os.environ["FAKE_CUDA_FAULTS"] = ""

    def case(comm: GpuCommunicator) -> Any:
        before = held_by_all(comm)
        said: dict[str, Any] = {}
        try:
            register(comm)
        except Error as error:
            said["error"] = f"{type(error).__name__}: {error}"
        return said | {"left": (held_by_all(comm) - before).tolist(), "after": summed(comm)}

    return case


def elsewhere(comm: GpuCommunicator) -> Any:
    """Rank 1 passes another place of its source than the others: the error, and what the destination has then."""
    with comm.allocate(2 * COUNT, Dtype.FLOAT) as source, comm.allocate(COUNT, Dtype.FLOAT) as destination:
        collective, pointer, *others = number_of(source, destination)
        destination.memory.write(read := np.full(COUNT, 7, np.float32))
        comm.barrier()
        try:
            comm._engine.run(collective, pointer + 16 * (comm.rank == 1), *others, *NVLS.numbers)
            comm._engine.synchronize(0)
        except Error as error:
            destination.memory.read(read)
            return str(error), set(read.tolist()) == {7.0}


def due(comm: GpuCommunicator) -> Any:
    """By what an all_reduce runs if nobody chooses, and other cases of it and of memory."""
    memory = [*(comm.registered_memory(LONG, symmetric=True) for _ in range(2)), native.GpuMemory(comm.device, LONG)]
    one, other, plain = (each.pointer for each in memory)

    def way(size: int, dtype: Dtype = Dtype.FLOAT, source: int = one, destination: int = other) -> str:
        number = comm._engine.way(NUMBERS[Collective.ALL_REDUCE], size // dtype.bytes, int(dtype), source, destination)
        return str(WAYS[number][0])

    halves = [way(LONG, dtype) for dtype in (Dtype.HALF, Dtype.BFLOAT16)]
    outside = [way(LONG - 32, source=one + 4), way(LONG - 4), way(LONG, source=plain), way(LONG, Dtype.DOUBLE)]
    return {"long": [way(LONG), *halves], "short": way(1 << 20), "others": outside}


def why(comm: GpuCommunicator) -> Any:
    """Why a GPU has none, as the driver answers."""
    said = []
    for fault in ("", "cuMulticastCreate=801", "cuModuleLoadData=209"):
        os.environ["FAKE_CUDA_FAULTS"] = fault
        said.append(native.why_no_nvls(comm.device))
    os.environ["FAKE_CUDA_FAULTS"] = ""
    return said


CASES |= {
    "summed": summed,
    "uncreated": refused("cuMulticastCreate=2"),
    "unjoined": refused("cuMulticastAddDevice@1=999"),
    "unbound": refused("cuMulticastBindMem@1=802"),
    "unexported": refused("cuMemExportToShareableHandle@0=1"),
    "unimported": refused("cuMemImportFromShareableHandle@1=999"),
    "unmapped": refused("cuMemMap@1=2"),
    "unreserved": refused("cuMemAddressReserve@1=2"),
    "elsewhere": elsewhere,
    "due": due,
    "why": why,
}

if __name__ == "__main__":
    gc.disable()
    main()
