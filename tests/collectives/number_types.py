# SPDX-License-Identifier: Apache-2.0
"""The engine's element types as NumPy has them, and their arithmetic as the engine does it."""

import ml_dtypes
import numpy as np

from railgauge.collectives.dtype import Dtype, Redop

SPECIAL = {
    Dtype.HALF: np.float16,
    Dtype.BFLOAT16: ml_dtypes.bfloat16,
    Dtype.FLOAT: np.float32,
    Dtype.DOUBLE: np.float64,
    Dtype.F8E4M3: ml_dtypes.float8_e4m3fn,
    Dtype.F8E5M2: ml_dtypes.float8_e5m2,
}
NUMPY = {d: np.dtype(SPECIAL.get(d, d.label)) for d in Dtype}
SATURATING = (Dtype.F8E4M3, Dtype.F8E5M2)
REDUCED = (Dtype.HALF, Dtype.BFLOAT16, *SATURATING)


def is_integer(dtype: Dtype) -> bool:
    return dtype in range(Dtype.INT8, Dtype.F8E4M3)


def widened(array: np.ndarray, dtype: Dtype) -> np.ndarray:
    """What the engine computes with: float for the short floats."""
    return array.astype(np.float32) if dtype in REDUCED else array


def narrowed(values: np.ndarray, dtype: Dtype) -> np.ndarray:
    """What it stores: the largest number for what is too large in 8 bits."""
    if dtype in SATURATING:
        largest = np.float32(ml_dtypes.finfo(NUMPY[dtype]).max)
        values = np.clip(values, -largest, largest)
    return values.astype(NUMPY[dtype])


def combined(a: np.ndarray, b: np.ndarray, op: Redop) -> np.ndarray:
    match op:
        case Redop.SUM | Redop.AVG:
            return a + b
        case Redop.PROD:
            return a * b
        case Redop.MIN:
            return np.fmin(a, b)
        case Redop.MAX:
            return np.fmax(a, b)


def divided(values: np.ndarray, by: int) -> np.ndarray:
    """Integers toward zero."""
    if not np.issubdtype(values.dtype, np.integer):
        return values / values.dtype.type(by)
    quotients = [abs(int(x)) // by * (-1 if x < 0 else 1) for x in values]
    return np.array(quotients, values.dtype)
