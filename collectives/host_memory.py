# SPDX-License-Identifier: Apache-2.0
"""Arrays of a communicator that need no copy: in memory that its ranks map, or registered with RDMA devices."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from railgauge._native.transports import SharedSegment
from railgauge.collectives.host_array import empty_array
from railgauge.collectives.registered import Registered, RegisteredArrays
from railgauge.transports.group import Group
from railgauge.transports.registered_memory import allocate


class HostMemory(ABC):
    """The part of a communicator that makes and registers arrays."""

    _group: Group
    _segment: SharedSegment | None
    """What all ranks map; None where they do not, or there is one rank."""
    _registered: RegisteredArrays

    @abstractmethod
    def _wait_for_queue(self) -> None:
        """Wait for operations that were started before."""

    def empty(self, shape: int | Sequence[int], dtype: Any = "float64") -> Any:
        """Make a NumPy array in memory that all ranks of the host map, so that collectives need not copy it.

        All ranks call it together, each with its own shape and dtype. Operations whose arrays lie in such memory of
        this communicator run on it directly, parts of arrays too; if some do not, the operation copies as for any
        array. On a communicator over several hosts, or of one rank, it is an ordinary array. See
        docs/internals/shared-memory.md.

        Args:
            shape: of the array, as NumPy takes it; may have no elements.
            dtype: as NumPy takes it, ml_dtypes' too.

        Returns:
            The array, zeroed, C-contiguous, aligned to a page. Its memory is freed after it and all its views are
            gone on all ranks, by a later call or with the communicator.

        Raises:
            UsageError: the shape or dtype is invalid, the dtype is of Python objects, or the communicator is closed.
            UnavailableError: there is too little memory on a rank; all ranks raise it, and the communicator stays
            usable.
            RunError: a rank was lost meanwhile.
        """
        return empty_array(shape, dtype, self.memory)

    def memory(self, size: int) -> memoryview:
        """The memory of `empty()`: `size` bytes; sizes may differ between ranks.

        Raises:
            UsageError, UnavailableError, RunError: as there.
        """
        self._wait_for_queue()
        if self._segment is None:
            return memoryview(bytearray(size))
        return allocate(self._group, self._segment, size)

    def register(self, array: Any) -> Registered:
        """Let RDMA devices send from an existing array without a copy; each rank may register other arrays.

        Call it between operations. The array must not move until it is unregistered; this keeps it alive until then.
        Without a connection over NET/IB nothing is registered.

        Raises:
            UsageError: it is not an array in host memory, or not contiguous.
            UnavailableError: a device cannot register it, for example because of the limit of locked memory (ulimit
            -l).
        """
        self._wait_for_queue()
        return self._registered.add(array)

    @property
    def window_bytes(self) -> tuple[int, int]:
        """How many bytes of this rank are registered memory (`empty`), and how many of them are in huge pages."""
        memory = self._segment and self._segment.registered_memory
        return (memory.bytes, memory.bytes_in_huge_pages) if memory else (0, 0)
