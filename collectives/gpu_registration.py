# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs that all ranks map, as it is asked for."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from railgauge._native import collectives as native
from railgauge.collectives.cuda_array import cuda_array
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.gpu_memory import SymmetricArray
from railgauge.collectives.registered import Registered
from railgauge.topo.errors import MismatchError, UnavailableError
from railgauge.transports.group import Group
from railgauge.transports.typed import listed

T = TypeVar("T")


class GpuRegistration(ABC):
    """A communicator of GPUs, whose ranks call these together."""

    rank: int
    size: int
    device: int
    _group: Group
    _engine: native.GpuEngine
    _handle_types: int
    why_no_nvls: str
    """Empty: symmetric memory has a multicast address."""

    def register(self, array: Any) -> Registered:
        """Let the peers map an array, for operations on it; called by all ranks together, with arrays that may differ
        in length.

        Raises:
            UnavailableError: on any rank, that memory cannot be mapped by others, such as memory of cuMemCreate that
                was made without a POSIX file descriptor as a handle type, or, for peers of other hosts (P2P/MNNVL), any
                that was made without a fabric handle.
            RunError: a rank was lost meanwhile.
        """
        told = cuda_array(array, self.device)
        return Registered(self._open(told.pointer, told.count * told.dtype.bytes), self._close)

    def allocate(self, shape: int | Sequence[int], dtype: Dtype) -> SymmetricArray:
        """Allocate memory that all ranks map; called by all ranks together, with one shape.

        Raises:
            UnavailableError: on any rank, there is too little memory, or no multicast address of it where
                RAILGAUGE_MULTICAST=1 asks for one.
            MismatchError: ranks ask for different sizes.
            RunError: a rank was lost meanwhile.
        """
        shape = (shape,) if isinstance(shape, int) else shape
        size = math.prod(shape) * dtype.bytes
        memory = self._together(lambda: native.GpuMemory(self.device, max(size, 1), self._handle_types))
        return SymmetricArray(memory, shape, dtype, self._open(memory.pointer, size, symmetric=True), self._close)

    def registered_memory(self, size: int, *, symmetric: bool) -> native.GpuMemory:
        """Memory that stays registered until this rank's part ends; all ranks take the same sizes in one order.

        Raises:
            UnavailableError: as of `allocate`. RunError: a rank was lost meanwhile.
        """
        memory = self._together(lambda: native.GpuMemory(self.device, size, self._handle_types))
        self._open(memory.pointer, size, symmetric=symmetric)
        return memory

    @property
    def maps_all(self) -> bool:
        """Whether all GPUs map each other's memory, so that registering it has an effect."""
        return self._engine.can_register

    def _open(self, pointer: int, size: int, *, symmetric: bool = False) -> int | None:
        """Register memory of this rank; None where not all GPUs map each other's."""
        if not self.maps_all:
            return None
        opened: list[int] = []
        try:
            lent = self._together(lambda: self._engine.lend_memory(pointer, size))
            theirs = self._exchange(size, lent, symmetric=symmetric)
            open_memory = functools.partial(self._engine.open_memory, pointer, size, symmetric, theirs)
            self._together(lambda: opened.append(self.running(open_memory)))
            if symmetric and not self.why_no_nvls:
                self._share_address(opened[0])
        except (UnavailableError, MismatchError):
            self._engine.withdraw_memory()
            for registration in opened:  # the numbers of later ones are the same on all ranks
                self._engine.close_memory(registration)
            raise
        return opened[0]

    def _exchange(self, size: int, lent: list[bytes], *, symmetric: bool) -> list[bytes]:
        """What all ranks lend to this one, by rank."""
        told = self._group.all_gather([size, lent], listed(int, listed(*[bytes] * (self.size + 1))))
        for rank, (bytes_, _) in enumerate(told):
            if symmetric and bytes_ != told[0][0]:
                raise MismatchError(f"symmetric memory: rank {rank} asks for {bytes_} bytes, rank 0 for {told[0][0]}")
        return [one[self.rank] + one[-1] for _, one in told]

    def _share_address(self, registration: int) -> None:
        """Give symmetric memory a multicast address. Each step waits until the one before succeeded on all ranks: the
        driver binds only once all GPUs have joined, and waits for them without end.
        """
        engine = self._engine
        _, offered = self._agree(lambda: engine.offer_multicast(registration), lambda made: made, bytes | None)
        self._together(lambda: self.running(lambda: engine.join_multicast(registration, offered)))
        self._together(lambda: engine.bind_multicast(registration))

    def _close(self, registration: int) -> None:
        """Unregister memory; when this returns, no rank maps it any more."""
        self._group.barrier()
        self._engine.close_memory(registration)
        self._group.barrier()

    @abstractmethod
    def running(self, operation: Callable[[], T]) -> T:
        """The result of an operation; a failure is reported to all ranks, and what ended the run is raised."""

    def _together(self, make: Callable[[], T]) -> T:
        """The result of `make`, once it succeeded on all ranks; else all raise, naming the rank that failed."""
        return self._agree(make, lambda _made: None, None)[0]

    @abstractmethod
    def _agree(self, make: Callable[[], T], tell: Callable[[T], Any], kind: Any) -> tuple[T, list[Any]]:
        """The same, and what all ranks say about theirs, which is of a kind that may be None."""
