# SPDX-License-Identifier: Apache-2.0
"""Memory of cuMemCreate in a test, mapped piece behind piece as PyTorch's expandable segments; simulated or real."""

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


class MappedRange:
    """Pieces of equal size in one range of addresses."""

    def __init__(self, device: int, pieces: int, *, handle_types: int = DESCRIPTOR) -> None:
        self._location = Location(ON_DEVICE, device)
        properties = Properties(PINNED, handle_types, self._location, None)
        granularity, pointer, context = ctypes.c_size_t(), ctypes.c_uint64(), ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context = context
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

    def write(self, array: np.ndarray, at: int = 0) -> None:
        self._in_context("cuMemcpyHtoD_v2", self.pointer + at, array.ctypes.data_as(ctypes.c_void_p), array.nbytes)

    def read(self, array: np.ndarray, at: int = 0) -> None:
        self._in_context("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), self.pointer + at, array.nbytes)

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

    def _in_context(self, function: str, *arguments: object) -> None:
        popped = ctypes.c_void_p()
        call("cuCtxPushCurrent_v2", self._context)
        call(function, *arguments)
        call("cuCtxPopCurrent_v2", ctypes.byref(popped))
