# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs that all ranks map, so that operations go from array to array, with nothing copied in between."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from railgauge._native import collectives as native
from railgauge.collectives.cuda_array import BY_TYPESTR
from railgauge.collectives.dtype import Dtype

TYPESTRS = {dtype: text for text, dtype in BY_TYPESTR.items()}
"""NumPy's array interface knows no other ones: those are shown as unsigned integers of their size."""


class Registered:
    """An array of the caller's that is registered, until `close`; it has to live as long.

    From then on all ranks use it alike: an operation takes registered arrays on all of them, or on none.
    """

    def __init__(self, window: int | None, end: Callable[[int], None]) -> None:
        """`window`: None where not all GPUs map each other's memory, and nothing is registered."""
        self._window, self._end = window, end

    @property
    def is_mapped(self) -> bool:
        """Whether the peers map it; else operations go as without registration."""
        return self._window is not None

    def close(self) -> None:
        """Let the peers unmap it: by all ranks, when its operations are done. Calling it twice is harmless.

        Raises:
            RunError: a rank was lost, or does not come within the timeout.
        """
        window, self._window = self._window, None
        if window is not None:
            self._end(window)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()


class SymmetricArray(Registered):
    """Memory of this rank's GPU, registered; the other ranks have as much, and use the same places of it.

    PyTorch, CuPy and Numba share it by its array interface: `torch.as_tensor(array, device="cuda")`.
    """

    def __init__(
        self,
        memory: native.GpuMemory,
        shape: Sequence[int],
        dtype: Dtype,
        window: int | None,
        end: Callable[[int], None],
    ) -> None:
        super().__init__(window, end)
        self.memory, self.shape, self.dtype = memory, tuple(shape), dtype.label
        self._typestr = TYPESTRS.get(dtype, f"u{dtype.bytes}")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of CUDA's array interface (Numba's documentation has it)."""
        return {"shape": self.shape, "typestr": f"<{self._typestr}", "data": (self.memory.pointer, False), "version": 3}
