# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays in memory that a communicator gives."""

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from railgauge.topo.errors import UsageError


def empty_array(shape: int | Sequence[int], dtype: Any, memory: Callable[[int], memoryview]) -> Any:
    """An array of a shape and type in `memory(bytes)`.

    Raises:
        UsageError: the shape or dtype is invalid, or the dtype is of Python objects.
    """
    import numpy as np

    try:
        kind = np.dtype(dtype)
        sizes = [operator.index(one) for one in (shape if isinstance(shape, Sequence) else [shape])]
        if kind.hasobject or any(size < 0 for size in sizes):
            raise TypeError
    except TypeError:
        raise UsageError(f"empty: shape {shape!r}, dtype {dtype!r}: expected whole numbers, a number type") from None
    return np.frombuffer(memory(prod(sizes) * kind.itemsize), np.uint8).view(kind).reshape(sizes)
