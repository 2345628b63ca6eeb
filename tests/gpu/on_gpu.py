# SPDX-License-Identifier: Apache-2.0
"""Calls of a GpuCommunicator on arrays of the host, as the oracle makes them (tests/collectives/oracle.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from railgauge._native import collectives as native
from railgauge.collectives.gpu_communicator import GpuCommunicator


class OnGpu:
    """Each call copies its arrays to the GPU and back, with all of the memory that they are a part of."""

    def __init__(self, comm: GpuCommunicator) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm = comm

    def __getattr__(self, collective: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            mirrors: dict[int, Mirror] = {}
            for one in arguments:
                if isinstance(one, np.ndarray) and id(whole(one)) not in mirrors:
                    mirrors[id(whole(one))] = Mirror(whole(one), self._comm.device)
            mapped = [mirrors[id(whole(one))].part(one) if isinstance(one, np.ndarray) else one for one in arguments]
            getattr(self._comm, collective)(*mapped)
            self._comm.synchronize()
            for mirror in mirrors.values():
                mirror.read_back()

        return call


class Mirror:
    """An array of the host, and the same in the memory of a GPU."""

    def __init__(self, array: np.ndarray, device: int) -> None:
        self._bytes = array.view(np.uint8)
        self._memory = native.GpuMemory(device, max(array.nbytes, 1))
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
