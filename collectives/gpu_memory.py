# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs that all ranks map, so that operations go from array to array, with nothing copied in between."""

from collections.abc import Callable, Sequence
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.cuda_array import BY_TYPESTR
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.registered import Registered

TYPESTRS = {dtype: text for text, dtype in BY_TYPESTR.items()}
"""The types of NumPy's array interface; other ones are shown as unsigned integers of their size."""


class SymmetricArray(Registered):
    """Memory of this rank's GPU, registered; the other ranks have the same amount, and use the same offsets.

    PyTorch, CuPy and Numba share it by its array interface: `torch.as_tensor(array, device="cuda")`.
    """

    def __init__(
        self,
        memory: native.GpuMemory,
        shape: Sequence[int],
        dtype: Dtype,
        registration: int | None,
        end: Callable[[int], None],
    ) -> None:
        super().__init__(registration, end)
        self.memory, self.shape, self.dtype = memory, tuple(shape), dtype.label
        self._typestr = TYPESTRS.get(dtype, f"u{dtype.bytes}")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of CUDA's array interface (see Numba's documentation)."""
        return {"shape": self.shape, "typestr": f"<{self._typestr}", "data": (self.memory.pointer, False), "version": 3}
