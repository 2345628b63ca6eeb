# SPDX-License-Identifier: Apache-2.0
"""The arrays that collectives take: whatever exports DLPack or the buffer protocol in host memory (NumPy, PyTorch's CPU
tensors, array.array, mmap), C-contiguous, read where it is.
"""

from dataclasses import dataclass
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, dtype_of_bits
from railgauge.topo.errors import UsageError

WITHOUT_EXPORT = {"bfloat16": (Dtype.BFLOAT16, "uint16")}
"""NumPy arrays of ml_dtypes export neither way: their bytes do, as this type."""


@dataclass(frozen=True, slots=True)
class Array:
    """A caller's array: `raw` is what the native engine reads or writes."""

    raw: Any
    dtype: Dtype
    count: int
    address: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.count * self.dtype.bytes


def array_of(value: Any, what: str, *, written: bool) -> Array:
    """Look at a caller's array; `what` names it in messages.

    Raises:
        UsageError: no array, not in host memory, not contiguous or aligned, of a type the engine does not have, or
            read-only where it is `written`.
    """
    if isinstance(value, Array):
        return value
    name = getattr(getattr(value, "dtype", None), "name", "")
    dtype, raw = None, value
    if name in WITHOUT_EXPORT:
        dtype, plain = WITHOUT_EXPORT[name]
        raw = value.view(plain)
    facts = native.describe_array(raw)
    if facts is None:
        raise UsageError(f"{what}: {type(value).__name__} is no array (DLPack or the buffer protocol)")
    if not facts.on_host:
        raise UsageError(f"{what} is not in host memory")
    if not facts.contiguous:
        raise UsageError(f"{what} is not C-contiguous: copy it first")
    if written and facts.read_only:
        raise UsageError(f"{what} is read-only")
    dtype = dtype or dtype_of_bits(facts.code, facts.bits)
    if dtype is None:
        raise UsageError(f"{what}: elements of {name or facts.bits}, which there are no collectives for")
    if facts.address % dtype.bytes:
        raise UsageError(f"{what} is not aligned to its {dtype.bytes}-byte elements")
    return Array(raw, dtype, facts.count, facts.address)
