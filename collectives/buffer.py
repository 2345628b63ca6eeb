# SPDX-License-Identifier: Apache-2.0
"""Memory of a rank for measured operations."""

import contextlib
import ctypes
import mmap
from collections.abc import Callable
from typing import Any

from railgauge.collectives.dtype import Dtype
from railgauge.topo.errors import UnavailableError

POISON = 0xA5


def own_memory(size: int) -> mmap.mmap:
    """Memory of this process, in huge pages where the system has them; UnavailableError where there is too little."""
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise UnavailableError(f"no memory for two buffers of {size} bytes a rank: use a smaller size (-e)") from None
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Buffer:
    """Page-aligned memory; the engine takes it as bytes."""

    def __init__(self, size: int, allocate: Callable[[int], Any] = own_memory) -> None:
        self.memory = allocate(max(size, 1))

    def at(self, element: int, dtype: Dtype) -> Any:
        """From that element on."""
        return memoryview(self.memory)[element * dtype.bytes :]

    def poison(self, size: int) -> None:
        """Fill the first `size` bytes with values that no result has."""
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(self.memory)), POISON, size)
