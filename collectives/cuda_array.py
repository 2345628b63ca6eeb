# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a GPU: those of PyTorch, CuPy, Numba, JAX and any other library with CUDA's array
interface.
"""

import enum
import math
import sys
from dataclasses import dataclass
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype
from railgauge.topo.errors import UsageError

BY_TYPESTR = {
    "f2": Dtype.HALF,
    "f4": Dtype.FLOAT,
    "f8": Dtype.DOUBLE,
    "i1": Dtype.INT8,
    "u1": Dtype.UINT8,
    "i4": Dtype.INT32,
    "u4": Dtype.UINT32,
    "i8": Dtype.INT64,
    "u8": Dtype.UINT64,
}
"""Type strings of NumPy's array interface, without their byte order."""
DTYPES = tuple(Dtype)
BY_NAME = {"bfloat16": Dtype.BFLOAT16, "float8_e4m3fn": Dtype.F8E4M3, "float8_e5m2": Dtype.F8E5M2}
"""Types for which the interface has no string, as PyTorch and ml_dtypes name them."""


class ElementKind(enum.Enum):
    """What elements are, beside numbers of a type that kernels have."""

    NUMBER = enum.auto()
    BOOL = enum.auto()
    """Bytes of 0 and 1."""
    COMPLEX = enum.auto()
    """Two numbers each."""
    MOVED = enum.auto()
    """Of a type that is moved only."""


OTHER_KINDS = {
    "b1": (Dtype.UINT8, ElementKind.BOOL),
    "i2": (Dtype.HALF, ElementKind.MOVED),
    "u2": (Dtype.HALF, ElementKind.MOVED),
    "c8": (Dtype.FLOAT, ElementKind.COMPLEX),
    "c16": (Dtype.DOUBLE, ElementKind.COMPLEX),
}
"""Type strings of elements that are no numbers of a kernel's type, with the type that stands for them."""
OTHER_NAMES = {"bool": "b1", "int16": "i2", "uint16": "u2", "complex64": "c8", "complex128": "c16"}
"""The same as PyTorch names them."""


@dataclass(frozen=True, slots=True)
class CudaArray:
    """A C-contiguous array of a GPU; of complex elements, the count is of their numbers."""

    pointer: int
    count: int
    dtype: Dtype
    kind: ElementKind = ElementKind.NUMBER
    device: int | None = None
    """CUDA's number of the GPU; None: its library does not say."""

    @property
    def numbers(self) -> int:
        """How many an element has."""
        return 2 if self.kind is ElementKind.COMPLEX else 1

    def overlaps(self, other: "CudaArray") -> bool:
        """Whether their memory overlaps."""
        ends = (one.pointer + one.count * one.dtype.bytes for one in (self, other))
        return max(self.pointer, other.pointer) < min(ends)


def is_on_gpu(array: Any) -> bool:
    """Whether an array's data is in the memory of a GPU."""
    return getattr(array, "is_cuda", False) is True or hasattr(array, "__cuda_array_interface__")


def cuda_array(array: Any, device: int | None = None) -> CudaArray:
    """Read where an array lies; `device`: CUDA's number of the GPU on which it has to.

    Raises:
        UsageError: not on that GPU, not contiguous, or of a type that no collective supports.
    """
    read = _read(array)
    if device is not None and read.device not in (None, device):
        raise UsageError(f"an array on GPU {read.device}: this communicator's is GPU {device}")
    return read


def _read(array: Any) -> CudaArray:
    if told := native.read_gpu_tensor(array):
        return CudaArray(told[0], told[1], DTYPES[told[2]], device=told[3])
    if not is_on_gpu(array):
        raise UsageError(f"{type(array).__name__}: not an array in the memory of a GPU")
    if getattr(array, "is_cuda", False) is True:  # PyTorch, whose interface lacks some types and refuses some tensors
        return _torch(array)
    shown = array.__cuda_array_interface__
    text = shown["typestr"][1:]
    dtype, kind = BY_NAME.get(str(getattr(array, "dtype", ""))) or BY_TYPESTR.get(text), ElementKind.NUMBER
    if dtype is None:
        dtype, kind = OTHER_KINDS.get(text, (None, kind))
    if dtype is None:
        raise UsageError(f"an array of type {shown['typestr']}: no collective supports it")
    numbers = 2 if kind is ElementKind.COMPLEX else 1
    strides = shown.get("strides")
    if strides is not None and tuple(strides) != _strides(shown["shape"], dtype.bytes * numbers):
        raise UsageError("an array that is not contiguous: copy it first")
    return CudaArray(shown["data"][0], math.prod(shown["shape"]) * numbers, dtype, kind)


def current_stream(array: Any) -> int:
    """The stream that an array's library uses on this thread, CUDA's handle; 0, the default stream, if unknown."""
    if (stream := native.stream_of_gpu_tensor(array)) is not None:
        return stream
    if getattr(array, "is_cuda", False) is True:
        return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    if type(array).__module__.startswith("cupy"):
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


def _torch(tensor: Any) -> CudaArray:
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = BY_NAME.get(name) or {"float16": Dtype.HALF, "float32": Dtype.FLOAT, "float64": Dtype.DOUBLE}.get(name)
    dtype, kind = dtype if dtype is not None else BY_LABEL.get(name), ElementKind.NUMBER
    if dtype is None:
        dtype, kind = OTHER_KINDS.get(OTHER_NAMES.get(name, ""), (None, kind))
    if dtype is None:
        raise UsageError(f"a tensor of {tensor.dtype}: no collective supports it")
    if not tensor.is_contiguous():
        raise UsageError("a tensor that is not contiguous: call .contiguous() first")
    return CudaArray(
        tensor.data_ptr(), tensor.numel() * (2 if kind is ElementKind.COMPLEX else 1), dtype, kind, tensor.device.index
    )


BY_LABEL = {dtype.label: dtype for dtype in Dtype}


def _strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= max(extent, 1)
    return tuple(reversed(strides))
