# SPDX-License-Identifier: Apache-2.0
"""Memory of kinds that cudaMalloc does not make, simulated or real: mapped piece behind piece as PyTorch's expandable
segments are, or of a pool.
"""

import ctypes
from collections.abc import Sequence

import numpy as np

DESCRIPTOR = 1
"""CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR."""
NO_WAY = 0
"""Memory that cannot be exported."""
ON_DEVICE, PINNED, READ_WRITE = 1, 1, 3


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("of_windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", Location), ("flags", ctypes.c_int))


def call(function: str, *arguments: object) -> None:
    """Call a function of CUDA's driver; integers go as 64 bits."""
    given = [ctypes.c_uint64(one) if isinstance(one, int) else one for one in arguments]
    result = getattr(ctypes.CDLL("libcuda.so.1"), function)(*given)
    assert result == 0, f"{function}: {result}"


class PoolProperties(ctypes.Structure):
    """CUmemPoolProps."""

    _fields_ = (
        ("allocation_type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("rest", ctypes.c_ubyte * 72),
    )


class DriverMemory:
    """Memory of a GPU that the host writes and reads."""

    pointer: int
    bytes: int
    piece_bytes: int
    """Of the first part of it, at whose end arrays of tests begin."""

    def __init__(self, device: int) -> None:
        context = ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context, self._location = context, Location(ON_DEVICE, device)

    def write(self, array: np.ndarray, at: int = 0) -> None:
        self._in_context("cuMemcpyHtoD_v2", self.pointer + at, array.ctypes.data_as(ctypes.c_void_p), array.nbytes)

    def read(self, array: np.ndarray, at: int = 0) -> None:
        self._in_context("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), self.pointer + at, array.nbytes)

    def _in_context(self, function: str, *arguments: object) -> None:
        popped = ctypes.c_void_p()
        call("cuCtxPushCurrent_v2", self._context)
        call(function, *arguments)
        call("cuCtxPopCurrent_v2", ctypes.byref(popped))


class MappedRange(DriverMemory):
    """Pieces of equal size in one range of addresses."""

    def __init__(self, device: int, pieces: int = 3, *, handle_types: int = DESCRIPTOR) -> None:
        super().__init__(device)
        properties = Properties(PINNED, handle_types, self._location, None)
        granularity, pointer = ctypes.c_size_t(), ctypes.c_uint64()
        call("cuMemGetAllocationGranularity", ctypes.byref(granularity), ctypes.byref(properties), 0)
        self.piece_bytes, self.bytes = granularity.value, pieces * granularity.value
        call("cuMemAddressReserve", ctypes.byref(pointer), self.bytes, 0, 0, 0)
        self.pointer = pointer.value
        for at in self._pieces():
            handle = ctypes.c_uint64()
            call("cuMemCreate", ctypes.byref(handle), self.piece_bytes, ctypes.byref(properties), 0)
            call("cuMemMap", at, self.piece_bytes, 0, handle, 0)
            call("cuMemRelease", handle)
        access = Access(self._location, READ_WRITE)
        call("cuMemSetAccess", self.pointer, self.bytes, ctypes.byref(access), 1)

    def can_be_reached_by(self, device: int) -> bool:
        """Whether a GPU of this process has access to each piece."""
        flags, location = ctypes.c_uint64(), Location(ON_DEVICE, device)
        found = []
        for at in self._pieces():
            call("cuMemGetAccess", ctypes.byref(flags), ctypes.byref(location), at)
            found.append(flags.value == READ_WRITE)
        return all(found)

    def close(self) -> None:
        for at in self._pieces():
            call("cuMemUnmap", at, self.piece_bytes)
        call("cuMemAddressFree", self.pointer, self.bytes)

    def _pieces(self) -> Sequence[int]:
        return range(self.pointer, self.pointer + self.bytes, self.piece_bytes)


class PoolMemory(DriverMemory):
    """An allocation of a pool, as cudaMallocFromPoolAsync makes it."""

    piece_bytes = 4096

    def __init__(
        self, device: int, size: int = 1 << 16, *, handle_types: int = DESCRIPTOR, pool: ctypes.c_uint64 | None = None
    ) -> None:
        super().__init__(device)
        self.bytes, self._owns = size, pool is None
        self.pool = pool or ctypes.c_uint64()
        if self._owns:
            properties = PoolProperties(PINNED, handle_types, self._location)
            call("cuMemPoolCreate", ctypes.byref(self.pool), ctypes.byref(properties))
        pointer = ctypes.c_uint64()
        self._in_context("cuMemAllocFromPoolAsync", ctypes.byref(pointer), size, self.pool, None)
        self.pointer = pointer.value

    def can_be_reached_by(self, device: int) -> bool:
        """Whether a GPU of this process has access to the pool."""
        flags, location = ctypes.c_int(), Location(ON_DEVICE, device)
        call("cuMemPoolGetAccess", ctypes.byref(flags), self.pool, ctypes.byref(location))
        return flags.value == READ_WRITE

    def close(self) -> None:
        self._in_context("cuMemFree_v2", self.pointer)
        if self._owns:
            call("cuMemPoolDestroy", self.pool)
