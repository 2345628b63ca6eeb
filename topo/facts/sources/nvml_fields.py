# SPDX-License-Identifier: Apache-2.0
"""The values of NVML's fields, by number: counters that have no call of their own. In the child process only."""

from collections.abc import Sequence
from typing import Any

UNSIGNED_INT = 1  # NVML_VALUE_TYPE_UNSIGNED_INT: a value of 32 bits


def field_values(pynvml: Any, handle: Any, asked: Sequence[tuple[int, int]]) -> list[int | None]:
    """The value of each (field, scope), None where the GPU has none. Raises NVMLError if it answers none at all."""
    return [_value(pynvml, field) for field in pynvml.nvmlDeviceGetFieldValues(handle, asked)]


def _value(pynvml: Any, field: Any) -> int | None:
    if field.nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return int(field.value.uiVal if field.valueType == UNSIGNED_INT else field.value.ullVal)
